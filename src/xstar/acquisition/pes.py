"""Predictive Entropy Search: the expected information of an observation at x about the location of the maximum.

    score(x) = mean over samples of  -1/2 log(1 - (v(x) - v(x | x_star)) / (v(x) + noise variance))    in nats

[HHG14, eq. 10], written with log1p of the ratio and never as a difference of two large numbers; it cannot be negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from xstar.acquisition.base import Acquisition, Score, condition_on_pending, share_out
from xstar.entropy.conditioned import (
    LEAST_VARIANCE,
    Conditioned,
    ConditioningSettings,
    Prediction,
    Truncation,
    condition,
)
from xstar.entropy.constraints import constrain
from xstar.entropy.functionals import Functionals
from xstar.entropy.maximizers import Maximizers, MaximizerSettings, draw_maximizers
from xstar.errors import SettingsError
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, take_rows, to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import instance, integer, positive
from xstar.numerics.random import Random, permutations
from xstar.search.candidates import inside_cube
from xstar.search.region import Region

LEAST_REMAINING = 1e-12
"""No sample is taken to leave less than this share of the variance: the logarithm of what remains stays finite."""


@dataclass(frozen=True)
class PESSettings:
    """What Predictive Entropy Search may be tuned by, beside the fields of `PES`.

    Parameters
    ----------
    num_screening_samples : int
        Samples that candidates are ranked by, and that the first iterations of a search see; the rest of it sees all
        (`python -m benchmarks.speed`).
    min_distance : float
        Competing points among the maximizers are at least this far from each other in some coordinate: closer ones say
        the same twice (`python -m benchmarks.accuracy`).
    max_ep_residual : float
        A sample whose EP still moved by this much in its last sweep is not used (`python -m benchmarks.robustness`).
    maximizers : MaximizerSettings
        How sample paths are maximized.
    conditioning : ConditioningSettings
        How the posterior is conditioned on a maximizer, and how EP iterates.

    Examples
    --------
    >>> from xstar.acquisition import PES, PESSettings
    >>> from xstar.entropy import ConditioningSettings, EPSettings
    >>> undamped = PES(settings=PESSettings(conditioning=ConditioningSettings(ep=EPSettings(damping=1.0))))
    >>> undamped.settings.conditioning.ep.damping
    1.0
    """

    num_screening_samples: int = 10
    min_distance: float = 0.03
    max_ep_residual: float = 1e-2
    maximizers: MaximizerSettings = field(default_factory=MaximizerSettings)
    conditioning: ConditioningSettings = field(default_factory=ConditioningSettings)

    def __post_init__(self) -> None:
        integer(self.num_screening_samples, "num_screening_samples", 1)
        positive(self.min_distance, "min_distance")
        positive(self.max_ep_residual, "max_ep_residual")
        instance(self.maximizers, "maximizers", MaximizerSettings, "MaximizerSettings()")
        instance(self.conditioning, "conditioning", ConditioningSettings, "ConditioningSettings()")


@dataclass(frozen=True)
class PES(Acquisition):
    """Predictive Entropy Search: the expected information about the maximizer, in nats.

    Samples that come out not finite, or whose EP did not settle, are dropped and counted in the diagnostics; if all
    are, the score is zero everywhere. The defaults were measured by `python -m benchmarks.defaults`.

    Parameters
    ----------
    num_samples : int
        At least so many draws of the maximizer x_star, as many for each hyperparameter sample.
    num_features : int
        Random features of a sample path.
    boundary : str
        "aware" lets a maximum on a face of the cube have a slope, "paper" takes all maxima as stationary.
    incumbent : str
        "latent" compares f(x_star) with latent values at the best data and at competing points, "paper" with the
        largest observation.
    paths : str
        "exact", or "weights", the paper's. "paper", "paper" and "weights" together are the algorithm of 2014 (without
        competing points; the smallest spread of its kappa rule, 1e-10, is taken relative to the prior variance).
    num_competitors : int
        Maximizers of other paths whose latent values f(x_star) must exceed.
    settings : PESSettings
        Everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import PES
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> score = PES(num_samples=20).prepare(post, np.random.default_rng(0))
    >>> bool((score([[0.1], [0.8]]) >= 0.0).all())
    True
    """

    num_samples: int = 50
    num_features: int = 512
    boundary: str = "aware"
    incumbent: str = "latent"
    paths: str = "exact"
    num_competitors: int = 10
    settings: PESSettings = PESSettings()
    informative: ClassVar[bool] = True
    samples_maxima: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.num_samples, "num_samples", 1)
        integer(self.num_features, "num_features", 1)
        integer(self.num_competitors, "num_competitors", 0)
        instance(self.settings, "settings", PESSettings, "PESSettings()")
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
            post, share_out(self.num_samples, post), rng, num_features=self.num_features, kind=self.paths,
            region=region, settings=self.settings.maximizers,
        )  # fmt: skip
        competitors, present = self._competitors(post, drawn, rng)
        smooth = np.flatnonzero(~region.domain.discrete)
        functionals = Functionals(post.kernel, post.hyper, drawn.x, competitors, smooth)
        best = _best_observation(post) if self.incumbent == "paper" else None
        constraints = constrain(
            drawn, int(competitors.shape[-2]), boundary=self.boundary,
            best_value=best[0] if best else None, best_noise_variance=best[1] if best else None,
            present=present, along=smooth,
        )  # fmt: skip
        post, alpha = condition_on_pending(post, drawn.paths, pending, rng)
        conditioned = condition(post, alpha, functionals, constraints, self.settings.conditioning)
        return PESScore.of(conditioned, drawn, self.settings)

    def _competitors(self, post: Posterior, drawn: Maximizers, rng: Random) -> tuple[Array, Array]:
        """Points that f(x_star) must beat: the best data, and maximizers of other paths, no two of them close.

        Shape (R, 1, k, d), and which of them there are, (R, k).
        """
        R, d = int(drawn.x.shape[0]), post.dimension
        points, inside = drawn.incumbents
        kept = 0 if self.incumbent == "paper" else int(inside.sum(axis=1).max(initial=0))
        best, inside = to_numpy(points)[:, :kept], inside[:, :kept]
        others = to_numpy(drawn.x).reshape(R, -1, d)
        mixed = np.take_along_axis(others, permutations(rng, others.shape[1])[..., None], axis=1)
        count = 0 if self.incumbent == "paper" else self.num_competitors
        apart, found = points_apart(mixed, count, self.settings.min_distance)
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


def points_apart(points: HostArray, count: int, distance: float) -> tuple[HostArray, HostArray]:
    """Return the first few points of each problem (R, N, d) that are not close to one before; and which there are."""
    R, N, d = points.shape
    chosen = np.full((R, count, d), np.inf)
    number = np.zeros(R, dtype=np.int64)
    for i in range(N):
        if count == 0 or number.min() >= count:
            break
        x = points[:, i]
        far = np.all(np.abs(x[:, None] - chosen).max(axis=-1) > distance, axis=1) & (number < count)
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
    settings: PESSettings = PESSettings()

    @classmethod
    def of(cls, conditioned: Conditioned, drawn: Maximizers, settings: PESSettings | None = None) -> PESScore:
        """Return the score of sampled maximizers, without the samples that came out not finite or not settled."""
        settings = settings or PESSettings()
        xp = namespace(drawn.x)
        names = ("reducer", "shift", "toward", "best_mean", "best_variance")
        finite = conditioned.sites.residual <= settings.max_ep_residual
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
            settings,
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

    @property
    def sampled_maxima(self) -> Array:
        """Of the paths as they were drawn, before pending points."""
        value = self.maximizers.value
        return namespace(value).reshape(value, (value.shape[0], -1))

    def rough(self) -> PESScore:
        """Return the score of a few samples only."""
        _, H, S = self.weight.shape[:3]
        paths = -(-self.settings.num_screening_samples // H)
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
        most = p.variance * (1.0 - LEAST_REMAINING)
        total = xp.minimum(p.reduction + cut.reduction, most)
        known = p.variance + noise_variance <= certain
        before = xp.where(known, certain, p.variance + noise_variance)
        after = before - total
        value = xp.sum(self.weight * -0.5 * xp.log1p(-total / before), axis=(1, 2))
        by_total = xp.where(known | (p.reduction + cut.reduction > most), 0.0, self.weight * 0.5 / after)
        return _Information(value, by_total, -by_total * total / before)


class _Information(NamedTuple):
    value: Array
    """Shape (R, m)."""
    by_total: Array
    """Shape (R, H, S, m)."""
    by_variance: Array
    """Shape (R, H, S, m)."""
