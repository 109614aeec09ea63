"""Predictive entropy search for several outputs: what their values at x tell about where their optimum is.

    score(x) = mean over draws of  sum over outputs of  -1/2 log(1 - reduction / (v(x) + noise variance))    in nats

The optimum P of a draw is a feasible point, or several of a Pareto set (`entropy.optima`); the reduction is what
knowing P takes off the variance v(x) of each output (`entropy.joint`). For one objective without constraints this is
`PES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from xstar.acquisition.base import Score, condition_on_pending
from xstar.acquisition.pes import LEAST_REMAINING, PESSettings, points_apart
from xstar.acquisition.prepared import Prepared
from xstar.entropy.conditioned import LEAST_VARIANCE, Prediction
from xstar.entropy.joint import ConditionedOutput, Excess, Undominated, condition_output, excess, undominated
from xstar.entropy.optima import Optima, draw_optima
from xstar.errors import SettingsError
from xstar.gp.observations import check_points
from xstar.gp.outputs import Outputs
from xstar.numerics.arrays import Array, HostArray, in_chunks, move, namespace, to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import generator, instance, integer
from xstar.numerics.random import permutations
from xstar.search.domain import Domain, cube
from xstar.search.region import Region, Restriction


@dataclass(frozen=True)
class JointPES:
    """The expected information about the optimum of several outputs, in nats.

    Parameters
    ----------
    num_samples : int
        At least so many draws of the optimum, as many for each hyperparameter sample.
    num_points : int
        Points of a Pareto set, of each draw, if there are several objectives.
    num_features : int
        Random features of a sample path.
    num_competitors : int
        Optima of other draws that the optimum of a single objective must beat, where they are feasible.
    slopes : bool
        Whether the gradients of all outputs balance at an optimum: none has a slope across the space that the draw's
        own gradients span. Without, only values are known there; `python -m benchmarks.accuracy_outputs` shows what
        that costs.
    settings : PESSettings
        Everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import JointPES
    >>> from xstar.gp import Hyperparameters, Outputs, Posterior, SquaredExponential
    >>> hyper, X = Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]]
    >>> value, purity = (Posterior(SquaredExponential(), hyper, X, y) for y in ([0.0, 1.0], [0.5, -0.5]))
    >>> score = JointPES(num_samples=20).prepare(Outputs((value,), (purity,), (0.0,)), np.random.default_rng(0))
    >>> score.by_output([[0.1], [0.5]]).shape
    (2, 2)
    """

    num_samples: int = 50
    num_points: int = 3
    num_features: int = 512
    num_competitors: int = 10
    slopes: bool = True
    settings: PESSettings = field(default_factory=PESSettings)

    def __post_init__(self) -> None:
        for name in ("num_samples", "num_points", "num_features"):
            integer(getattr(self, name), name, 1)
        integer(self.num_competitors, "num_competitors", 0)
        instance(self.settings, "settings", PESSettings, "PESSettings()")

    def prepare(
        self,
        outputs: Outputs,
        rng: np.random.Generator,
        pending: ArrayLike | None = None,
        domain: Domain | None = None,
        restriction: Restriction | None = None,
    ) -> JointPrepared:
        """Compute everything that does not depend on x.

        Parameters
        ----------
        outputs : Outputs
            The posteriors.
        rng : numpy.random.Generator
            Of the draws.
        pending : array_like of shape (k, d), optional
            Points whose values have been asked for and are not known yet.
        domain : Domain, optional
            The legal points; by default the whole cube.
        restriction : Restriction, optional
            Where the optimum is looked for, for example where evaluations do not fail.

        Returns
        -------
        JointPrepared
            The score, to be called at any points and to be maximized by `xstar.search`.

        Raises
        ------
        SettingsError
            If arguments do not fit each other.
        DataError
            If pending points have the wrong shape.
        """
        instance(outputs, "outputs", Outputs, "Outputs((post,), (other,), (0.0,))")
        generator(rng)
        like, d = outputs.objectives[0].data.X, outputs.dimension
        domain = cube(d) if domain is None else domain
        if domain.dimension != d:
            raise SettingsError(f"domain has {domain.dimension} columns for {d} coordinates.")
        under_way = None if pending is None else check_points(pending, "pending", like=like, dimension=d, table=True)
        under_way = None if under_way is None or under_way.shape[0] == 0 else under_way
        optima = draw_optima(
            outputs, -(-self.num_samples // outputs.num_hyper), rng, num_points=self.num_points,
            num_features=self.num_features, region=Region(domain, restriction), settings=self.settings.maximizers,
        )  # fmt: skip
        competitors = self._competitors(optima, rng, like)
        smooth = np.flatnonzero(~domain.discrete)
        conditioned = tuple(
            condition_output(
                outputs, k, optima, condition_on_pending(post, optima.paths[k], under_way, rng), competitors, smooth,
                self.settings.conditioning, slopes=self.slopes,
            )
            for k, post in enumerate(outputs.posteriors)
        )  # fmt: skip
        return JointPrepared(JointScore.of(conditioned, optima, self.settings))

    def _competitors(self, optima: Optima, rng: np.random.Generator, like: Array) -> Array:
        """Points that the optimum of one objective must beat: the best data, and optima of other draws (1, 1, k, d)."""
        points, inside = optima.incumbents
        best = to_numpy(points)[:, inside[0]]
        others = to_numpy(optima.x)[..., 0, :].reshape(1, -1, best.shape[-1])
        mixed = np.take_along_axis(others, permutations(rng, others.shape[1])[..., None], axis=1)
        apart, found = points_apart(mixed, self.num_competitors, self.settings.min_distance)
        return move(np.concatenate([best, apart[:, found[0]]], axis=1)[:, None], like)


@dataclass(frozen=True)
class JointPrepared(Prepared):
    """A prepared score of several outputs."""

    score: JointScore

    def by_output(self, X: ArrayLike) -> Array:
        """Return the nats that each output's value at points (n, d) tells, shape (K, n); they sum to the score."""
        points = check_points(X, "X", like=self.score.like, dimension=self.dimension, table=True)
        (each,) = in_chunks(lambda x: (self.score.each(x),), points[None, ...], self.score.elements_per_point, (1,))
        return each


@dataclass(frozen=True)
class JointScore(Score):
    """The information in nats, averaged over the draws that are not dropped."""

    outputs: tuple[ConditionedOutput, ...]
    optima: Optima
    present: Array
    """Which points each draw has, shape (1, H, S, Q, 1)."""
    feasible: Array
    """Whether something is feasible on it, shape (1, H, S, 1, 1)."""
    weight: Array
    """Of each draw, shape (1, H, S, 1); zero for those that are dropped."""
    outcome: Mapping[str, Any]
    settings: PESSettings

    @classmethod
    def of(cls, outputs: tuple[ConditionedOutput, ...], optima: Optima, settings: PESSettings) -> JointScore:
        """Return the score of sampled optima, without the draws that came out not finite or not settled."""
        xp = namespace(optima.x)
        kept = optima.feasible | ~optima.feasible
        for output in outputs:
            own = output.conditioned
            kept = kept & (own.sites.residual <= settings.max_ep_residual)
            for part in (own.reducer, own.shift, *output.points):
                kept = kept & xp.all(xp.isfinite(xp.reshape(part, (*kept.shape, -1))), axis=-1)
        cleaned = tuple(_without(output, kept) for output in outputs)
        mask = xp.astype(kept, optima.x.dtype)
        number = xp.sum(mask)
        return cls(
            cleaned, optima, optima.present[..., None], optima.feasible[..., None, None],
            mask[..., None] / xp.maximum(number, 1.0),
            {
                "samples": int(np.prod(kept.shape)),
                "dropped": int(np.prod(kept.shape)) - int(number),
                "ep_sweeps": max(output.conditioned.sites.sweeps for output in outputs),
                "ep_residual": max(float(xp.max(output.conditioned.sites.residual)) for output in outputs),
                "feasible_draws": float(xp.mean(xp.astype(optima.feasible, optima.x.dtype))),
            },
            settings,
        )  # fmt: skip

    @property
    def like(self) -> Array:
        return self.optima.x

    @property
    def num_problems(self) -> int:
        return 1

    @property
    def elements_per_point(self) -> int:
        _, H, S = self.weight.shape[:3]
        points = int(self.present.shape[3])
        return sum(
            H * (S * (2 * output.conditioned.functionals.length + output.conditioned.reducer.shape[-2] + 6 * points)
                 + output.conditioned.post.data.count)
            for output in self.outputs
        )  # fmt: skip

    @property
    def diagnostics(self) -> Mapping[str, Any]:
        return self.outcome

    @property
    def starts(self) -> Array:
        """Where optima are expected is where an observation may tell most about them."""
        x = self.optima.x
        return namespace(x).reshape(x, (1, -1, x.shape[-1]))

    def rough(self) -> JointScore:
        """Return the score of a few draws only."""
        _, H, S = self.weight.shape[:3]
        paths = -(-self.settings.num_screening_samples // H)
        if paths >= S:
            return self
        return replace(
            self,
            outputs=tuple(output.first(paths) for output in self.outputs),
            present=self.present[:, :, :paths, ...],
            feasible=self.feasible[:, :, :paths, ...],
            weight=self.weight[:, :, :paths, :] * (S / paths),
        )

    def take(self, problems: HostArray, /) -> JointScore:
        return self

    def value(self, X: Array, /) -> Array:
        return namespace(X).sum(self.each(X), axis=0)[None, :]

    def each(self, X: Array, /) -> Array:
        """Return what each output tells at points (1, m, d), shape (K, m)."""
        seen = self._look(X)
        xp = namespace(X)
        return xp.stack([
            xp.sum(self._information(k, seen)[0], axis=(0, 1, 2)) for k in range(len(self.outputs))
        ])  # fmt: skip

    def evaluate(self, X: Array, /) -> Evaluation:
        xp, seen = namespace(X), self._look(X)
        told = [self._information(k, seen) for k in range(len(self.outputs))]
        # Every output's odds depend on all of them.
        by_odds = sum(
            (info.by_total[..., None, :] * seen.chosen[k] * scale * seen.shares.by_odds[k])
            for k, (info, scale) in enumerate(zip(told, seen.scales, strict=True))
        )
        gradient = xp.zeros_like(X)
        for k, (output, info) in enumerate(zip(self.outputs, told, strict=True)):
            gradient = gradient + self._slope(X, output, seen, k, info, by_odds)
        value = sum(xp.sum(info.value, axis=(1, 2)) for info in told)
        return Evaluation(value, gradient)

    def _slope(
        self, X: Array, output: ConditionedOutput, seen: _Seen, k: int, info: _Information, by_odds: Array
    ) -> Array:
        """What one output adds to the gradient."""
        xp, p, u = namespace(X), seen.predictions[k], seen.excesses[k]
        chosen = info.by_total[..., None, :] * seen.chosen[k]
        ratio = u.contrast / u.spread
        by_a = chosen * seen.scales[k] * seen.shares.by_own[k] + by_odds * seen.shares.odds_by_own[k]
        by_contrast = chosen * 2.0 * ratio * seen.shares.share[k]
        by_spread = -chosen * ratio * ratio * seen.shares.share[k] - by_a * 0.5 * u.a / u.spread
        by_mean = xp.sum(by_a / xp.sqrt(u.spread), axis=-2)
        by_q = xp.zeros_like(p.q)
        if output.bound is None:
            by_v11 = xp.where(u.floored, 0.5 * by_contrast, by_contrast + by_spread)
            by_v12 = xp.where(u.floored, 0.0, -by_contrast - 2.0 * by_spread)
            by_q = by_q + xp.matmul(xp.linalg.matrix_transpose(by_v12), output.points.toward)
        else:
            by_v11 = by_contrast + xp.where(u.floored, 0.0, by_spread)
        by_v11 = xp.sum(by_v11, axis=-2)
        own = output.conditioned
        by_reduction = 2.0 * (info.by_total - by_v11)
        by_q = by_q + xp.matmul(by_reduction[..., None] * p.reduced, own.reducer)
        by_q = by_q + by_mean[..., None] * own.shift[..., None, :]
        return own.pull_back(X[:, None, ...], p, info.by_variance + by_v11, by_mean, by_q)

    def _look(self, X: Array) -> _Seen:
        xp = namespace(X)
        predictions = [output.conditioned.variances(X[:, None, ...]) for output in self.outputs]
        excesses = [excess(output, p) for output, p in zip(self.outputs, predictions, strict=True)]
        counted = [self.feasible if output.bound is None else self.feasible | ~self.feasible for output in self.outputs]
        shares = undominated([u.a for u in excesses], [self.present & part for part in counted])
        scales = [u.contrast * (u.contrast / u.spread) for u in excesses]
        chosen = []
        for scale, share in zip(scales, shares.share, strict=True):
            reduction = scale * share
            best = xp.max(reduction, axis=-2, keepdims=True)
            first = xp.cumulative_sum(xp.astype(reduction == best, X.dtype), axis=-2) == 1.0
            chosen.append(xp.astype((reduction == best) & first, X.dtype))
        return _Seen(predictions, excesses, shares, scales, chosen)

    def _information(self, k: int, seen: _Seen) -> _Information:
        """What output k tells, and the derivatives of its summands in v(x) and in the total reduction."""
        p, xp = seen.predictions[k], namespace(seen.scales[k])
        post = self.outputs[k].conditioned.post
        noise_variance = post.hyper.noise_variance[..., None, None]
        certain = LEAST_VARIANCE * post.hyper.variance[..., None, None]
        undominating = xp.sum(seen.chosen[k] * seen.scales[k] * seen.shares.share[k], axis=-2)
        most = p.variance * (1.0 - LEAST_REMAINING)
        total = xp.minimum(p.reduction + undominating, most)
        known = p.variance + noise_variance <= certain
        before = xp.where(known, certain, p.variance + noise_variance)
        value = self.weight * -0.5 * xp.log1p(-total / before)
        slack = known | (p.reduction + undominating > most)
        by_total = xp.where(slack, 0.0, self.weight * 0.5 / (before - total))
        return _Information(value, by_total, -by_total * total / before)


class _Seen(NamedTuple):
    """All outputs at points x; lists over outputs."""

    predictions: list[Prediction]
    excesses: list[Excess]
    shares: Undominated
    scales: list[Array]
    """What a share is one of: contrast^2 / spread."""
    chosen: list[Array]
    """1 for the point of each draw that tells most, else 0; shape (1, H, S, Q, m)."""


class _Information(NamedTuple):
    value: Array
    """Shape (1, H, S, m)."""
    by_total: Array
    by_variance: Array


def _without(output: ConditionedOutput, kept: Array) -> ConditionedOutput:
    """The output with zeros in draws that are not kept."""
    xp = namespace(kept)

    def clean(part: Array) -> Array:
        return xp.where(xp.reshape(kept, (*kept.shape, *([1] * (part.ndim - kept.ndim)))), part, 0.0)

    own = replace(output.conditioned, reducer=clean(output.conditioned.reducer), shift=clean(output.conditioned.shift))
    return output._replace(conditioned=own, points=type(output.points)(*(clean(part) for part in output.points)))
