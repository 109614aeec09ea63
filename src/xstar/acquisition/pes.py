"""Predictive Entropy Search: the expected information of an observation at x about the location of the maximum.

    score(x) = mean over samples of  -1/2 log(1 - (v(x) - v(x | x_star)) / (v(x) + noise variance))    in nats

[HHG14, eq. 10], written with log1p of the ratio and never as a difference of two large numbers; it cannot be negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from xstar.acquisition.base import Acquisition, Score, condition_on_pending, share_out
from xstar.entropy.conditioned import Conditioned, Prediction, Truncation, condition
from xstar.entropy.constraints import constrain
from xstar.entropy.functionals import Functionals
from xstar.entropy.maximizers import Maximizers, draw_maximizers
from xstar.errors import SettingsError
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, take_rows, to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import integer
from xstar.numerics.random import Random, permutations
from xstar.search.candidates import inside_cube
from xstar.search.region import Region


@dataclass(frozen=True)
class PES(Acquisition):
    """Predictive Entropy Search with at least `num_samples` draws of x_star, as many for each hyperparameter sample.

    `boundary`: "aware" lets a maximum on a face of the cube have a slope, "paper" takes all maxima as stationary.
    `incumbent`: "latent" compares f(x_star) with latent values at the best data and at `num_rivals` other maximizers,
    "paper" with the largest observation. `paths`: "exact" or the paper's "weights". "paper", "paper" and "weights"
    together are the algorithm of 2014 (there are no rivals then; the smallest spread of its kappa rule, 1e-10, is taken
    relative to the prior variance).

    Samples that come out not finite, or whose EP did not settle, are dropped and counted in the diagnostics; if all
    are, the score is zero everywhere.
    """

    num_samples: int = 50
    num_features: int = 512
    boundary: str = "aware"
    incumbent: str = "latent"
    paths: str = "exact"
    num_rivals: int = 10
    informative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.num_samples, "num_samples", 1)
        integer(self.num_features, "num_features", 1)
        integer(self.num_rivals, "num_rivals", 0)
        for name, allowed in (
            ("boundary", ("aware", "paper")),
            ("incumbent", ("latent", "paper")),
            ("paths", ("exact", "weights")),
        ):
            if getattr(self, name) not in allowed:
                raise SettingsError(
                    f'{name} must be "{allowed[0]}" or "{allowed[1]}"; received {getattr(self, name)!r}.'
                )

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        drawn = draw_maximizers(
            post, share_out(self.num_samples, post), rng, num_features=self.num_features, kind=self.paths, region=region
        )
        rivals, present = self._rivals(post, drawn, rng)
        smooth = np.flatnonzero(~region.domain.discrete)
        functionals = Functionals(post.kernel, post.hyper, drawn.x, rivals, smooth)
        best = _best_observation(post) if self.incumbent == "paper" else None
        constraints = constrain(
            drawn, int(rivals.shape[-2]), boundary=self.boundary,
            best_value=best[0] if best else None, best_noise_variance=best[1] if best else None,
            present=present, along=smooth,
        )  # fmt: skip
        post, alpha = condition_on_pending(post, drawn.paths, pending, rng)
        return PESScore.of(condition(post, alpha, functionals, constraints), drawn)

    def _rivals(self, post: Posterior, drawn: Maximizers, rng: Random) -> tuple[Array, Array]:
        """Points that f(x_star) must beat: the best data, and maximizers of other paths, no two of them close.

        Shape (R, 1, k, d), and which of them there are, (R, k).
        """
        R, d = int(drawn.x.shape[0]), post.dimension
        points, inside = drawn.incumbents
        kept = 0 if self.incumbent == "paper" else int(inside.sum(axis=1).max(initial=0))
        best, inside = to_numpy(points)[:, :kept], inside[:, :kept]
        others = to_numpy(drawn.x).reshape(R, -1, d)
        mixed = np.take_along_axis(others, permutations(rng, others.shape[1])[..., None], axis=1)
        apart, found = _apart(mixed, 0 if self.incumbent == "paper" else self.num_rivals)
        present = np.concatenate([inside, found], axis=1)
        return move(np.concatenate([best, apart], axis=1)[:, None], post.data.X), move(present, post.data.X)


def _best_observation(post: Posterior) -> tuple[Array, Array] | None:
    """The largest observation in the cube (R,) and the variance of its noise (R, H); None without any."""
    y = to_numpy(post.data.y)[:, 0, :]
    inside = inside_cube(post.data.X[:, 0, ...])
    if not inside.any():
        return None
    if not inside.any(axis=1).all():
        raise SettingsError('incumbent="paper" needs data inside the cube for every problem, or for none.')
    best = np.argmax(np.where(inside, y, -np.inf), axis=1)
    rows = np.arange(len(y))
    variance = to_numpy(post.data.noise_variance(post.hyper.noise_variance))
    return move(y[rows, best], post.data.X), move(variance[rows, :, best], post.data.X)


APART = 0.03
"""Rivals among the maximizers are at least this far from each other in some coordinate."""


def _apart(points: HostArray, count: int) -> tuple[HostArray, HostArray]:
    """The first `count` points of each problem (R, N, d) that are not close to one before; and which there are."""
    R, N, d = points.shape
    chosen = np.full((R, count, d), np.inf)
    number = np.zeros(R, dtype=np.int64)
    for i in range(N):
        if count == 0 or number.min() >= count:
            break
        x = points[:, i]
        far = np.all(np.abs(x[:, None] - chosen).max(axis=-1) > APART, axis=1) & (number < count)
        rows = np.flatnonzero(far)
        chosen[rows, number[rows]] = x[rows]
        number += far
    most = int(number.max(initial=0))
    found = np.arange(most) < number[:, None]
    # Where a problem has fewer, its first point stands in; it is not imposed twice.
    return np.where(found[..., None], chosen[:, :most], points[:, :1]), found


@dataclass(frozen=True)
class PESScore(Score):
    """The information in nats, averaged over the samples that are not dropped."""

    conditioned: Conditioned
    maximizers: Maximizers
    weight: Array
    """Of each sample, shape (R, H, S, 1); zero for those that are dropped."""
    elements: int
    outcome: Mapping[str, Any]

    @classmethod
    def of(cls, conditioned: Conditioned, drawn: Maximizers) -> PESScore:
        """Return the score of sampled maximizers, without the samples that came out not finite or not settled."""
        xp = namespace(drawn.x)
        names = ("reducer", "shift", "toward", "best_mean", "best_variance")
        finite = conditioned.sites.residual <= UNSETTLED
        for name in names:
            part = getattr(conditioned, name)
            finite = finite & xp.all(xp.isfinite(xp.reshape(part, (*finite.shape, -1))), axis=-1)
        kept = xp.sum(xp.astype(finite, drawn.x.dtype), axis=(1, 2), keepdims=True)
        parts = {}
        for name in names:
            part = getattr(conditioned, name)
            parts[name] = xp.where(xp.reshape(finite, (*finite.shape, *([1] * (part.ndim - 3)))), part, 0.0)
        post = conditioned.post
        R, H, S = finite.shape
        per_path = 2 * conditioned.functionals.length + conditioned.reducer.shape[-2]
        return cls(
            replace(conditioned, **parts),
            drawn,
            xp.astype(finite, drawn.x.dtype)[..., None] / xp.maximum(kept, 1.0)[..., None],
            R * (H * S * per_path + H * post.data.count),
            {
                "samples": R * H * S,
                "dropped": R * H * S - int(xp.sum(kept)),
                "ep_sweeps": conditioned.sites.sweeps,
                "ep_residual": float(xp.max(conditioned.sites.residual)),
                "unconverged_paths": int(xp.sum(xp.astype(~drawn.converged, xp.int64))),
                "active_bounds": float(xp.mean(xp.astype(drawn.active, drawn.x.dtype))),
                "jitter": max(float(xp.max(conditioned.jitter)), float(np.max(to_numpy(post.jitter), initial=0.0))),
            },
        )

    @property
    def like(self) -> Array:
        return self.maximizers.x

    @property
    def elements_per_point(self) -> int:
        return self.elements

    @property
    def diagnostics(self) -> Mapping[str, Any]:
        return self.outcome

    @property
    def num_problems(self) -> int:
        return int(self.weight.shape[0])

    @property
    def starts(self) -> Array:
        """Where maxima are expected is where an observation may tell most about them."""
        x = self.maximizers.x
        return namespace(x).reshape(x, (x.shape[0], -1, x.shape[-1]))

    def rough(self) -> PESScore:
        """With a few samples only."""
        _, H, S = self.weight.shape[:3]
        paths = -(-SCREENED // H)
        if paths >= S:
            return self
        weight = self.weight[:, :, :paths, :] * (S / paths)
        return replace(self, conditioned=self.conditioned.first(paths), weight=weight)

    def take(self, problems: HostArray, /) -> PESScore:
        return replace(self, conditioned=self.conditioned.take(problems), weight=take_rows(self.weight, problems))

    def value(self, X: Array, /) -> Array:
        p = self.conditioned.variances(X[:, None, ...])
        return self._information(p, self.conditioned.truncate(p)).value

    def evaluate(self, X: Array, /) -> Evaluation:
        c = self.conditioned
        X = X[:, None, ...]
        p = c.variances(X)
        cut = c.truncate(p)
        info = self._information(p, cut)
        # The reduction and V11 = v - reduction, the covariance and the mean are functions of q; C3 of all of them.
        xp = namespace(X)
        by_reduction = 2.0 * info.by_total * (1.0 - cut.by_variance)
        by_mean = info.by_total * cut.by_mean
        by_q = xp.matmul(by_reduction[..., None] * p.reduced, c.reducer)
        by_q += (info.by_total * cut.by_covariance)[..., None] * c.toward[..., None, :]
        by_q += by_mean[..., None] * c.shift[..., None, :]
        by_variance = info.by_variance + info.by_total * cut.by_variance
        return Evaluation(info.value, c.pull_back(X, p, by_variance, by_mean, by_q))

    def _information(self, p: Prediction, cut: Truncation) -> _Information:
        """The score, and the derivatives of its summands in v(x) and in the total reduction."""
        xp = namespace(p.mean)
        noise_variance = self.conditioned.post.hyper.noise_variance[..., None, None]
        certain = LEAST_VARIANCE * self.conditioned.post.hyper.variance[..., None, None]
        most = p.variance * (1.0 - SURE)
        total = xp.minimum(p.reduction + cut.reduction, most)
        known = p.variance + noise_variance <= certain
        before = xp.where(known, certain, p.variance + noise_variance)
        after = before - total
        value = xp.sum(self.weight * -0.5 * xp.log1p(-total / before), axis=(1, 2))
        by_total = xp.where(known | (p.reduction + cut.reduction > most), 0.0, self.weight * 0.5 / after)
        return _Information(value, by_total, -by_total * total / before)


SCREENED = 10
"""Samples that candidates are ranked by, and that the first steps of a climb see; the rest of it sees all."""


class _Information(NamedTuple):
    value: Array
    """Shape (R, m)."""
    by_total: Array
    """Shape (R, H, S, m)."""
    by_variance: Array
    """Shape (R, H, S, m)."""


SURE = 1e-12
"""No sample is taken to leave less than this share of the variance."""
LEAST_VARIANCE = 1e-13
"""A prediction with less variance than this share of the prior's, noise included, is as good as known."""
UNSETTLED = 1e-2
"""A sample whose EP still moved by this much in its last sweep is not used."""
