"""Predictive Entropy Search: the expected information of an observation at x about the location of the maximum.

    score(x) = mean over samples of  -1/2 log(1 - (v(x) - v(x | x_star)) / (v(x) + noise variance))    in nats

[HHG14, eq. 10], written with log1p of the ratio and never as a difference of two large numbers; it cannot be negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from xstar.acquisition.base import Acquisition, Score
from xstar.entropy.conditioned import Conditioned, Prediction, Truncation, condition
from xstar.entropy.constraints import constrain
from xstar.entropy.functionals import Functionals
from xstar.entropy.maximizers import Maximizers, draw_maximizers
from xstar.errors import SettingsError
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy, zeros
from xstar.numerics.checks import integer
from xstar.numerics.linalg import solve_cholesky


@dataclass(frozen=True)
class PES(Acquisition):
    """Predictive Entropy Search with `num_samples` draws of the maximizer, shared out among hyperparameter samples.

    `boundary`: "aware" lets a maximum on a face of the cube have a slope, "paper" takes all maxima as stationary.
    `incumbent`: "latent" compares f(x_star) with latent values at the best data and at `num_rivals` other maximizers,
    "paper" with the largest observation. `paths`: "exact" or the paper's "weights". "paper", "paper" and "weights"
    together are the algorithm of 2014. `discrete` flags coordinates without derivatives.
    """

    num_samples: int = 50
    num_features: int = 512
    boundary: str = "aware"
    incumbent: str = "latent"
    paths: str = "exact"
    num_rivals: int = 10
    discrete: tuple[bool, ...] | None = None

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

    def _prepare(self, post: Posterior, rng: np.random.Generator, pending: Array | None) -> Score:
        if self.discrete is not None and len(self.discrete) != post.dimension:
            raise SettingsError(f"discrete has {len(self.discrete)} flags for {post.dimension} coordinates.")
        S = max(1, round(self.num_samples / post.batch_shape[0]))
        drawn = draw_maximizers(post, S, rng, num_features=self.num_features, kind=self.paths)
        rivals = self._rivals(post, drawn, rng)
        functionals = Functionals(post.kernel, post.hyper, drawn.x, rivals)
        paper = self.incumbent == "paper" and post.data.count > 0
        constraints = constrain(
            drawn, int(rivals.shape[0]), boundary=self.boundary,
            best_value=float(to_numpy(post.data.y).max()) if paper else None,
            best_noise_variance=post.hyper.noise_variance if paper else None,
            discrete=None if self.discrete is None else np.asarray(self.discrete),
        )  # fmt: skip
        post, alpha = _with_pending(post, drawn, pending)
        return PESScore(condition(post, alpha, functionals, constraints), drawn)

    def _rivals(self, post: Posterior, drawn: Maximizers, rng: np.random.Generator) -> Array:
        """Points that f(x_star) must beat: the best data, and maximizers of other paths, no two of them close."""
        if self.incumbent == "paper":
            return post.data.X[:0, :]
        parts = []
        if post.data.count:
            mean = to_numpy(post.predict(post.data.X)[0]).mean(axis=0)
            parts.append(to_numpy(post.data.X)[np.argsort(-mean, kind="stable")[:BEST_DATA]])
        others = to_numpy(drawn.x).reshape(-1, post.dimension)
        parts.append(_apart(others[rng.permutation(len(others))], self.num_rivals))
        return move(np.concatenate(parts), post.data.X)


BEST_DATA = 3
"""How many of the best data are rivals."""
APART = 0.03
"""Rivals among the maximizers are at least this far from each other in some coordinate."""


def _apart(points: HostArray, count: int) -> HostArray:
    chosen: list[HostArray] = []
    for x in points:
        if len(chosen) == count:
            break
        if all(np.abs(x - other).max() > APART for other in chosen):
            chosen.append(x)
    return np.asarray(chosen).reshape(len(chosen), points.shape[1])


def _with_pending(post: Posterior, drawn: Maximizers, pending: Array | None) -> tuple[Posterior, Array]:
    """The posterior with pending points as data, and K^{-1} of each path's targets: its own values there."""
    if pending is None:
        return post, post.alpha[:, None, :]
    xp = namespace(pending)
    values = drawn.paths(pending)
    longer = post.extend(pending, zeros((int(pending.shape[0]),), pending))
    data = xp.broadcast_to(post.data.y, (*values.shape[:-1], post.data.count))
    targets = xp.concat([data, values], axis=-1)
    alpha = solve_cholesky(longer.factor, xp.linalg.matrix_transpose(targets))
    return longer, xp.linalg.matrix_transpose(alpha)


class PESScore(Score):
    """The information in nats, averaged over all samples that came out finite."""

    def __init__(self, conditioned: Conditioned, drawn: Maximizers) -> None:
        xp = namespace(drawn.x)
        parts = (
            conditioned.reducer,
            conditioned.shift,
            conditioned.toward,
            conditioned.best_mean,
            conditioned.best_variance,
        )
        finite = ~zeros(tuple(drawn.value.shape), drawn.value, boolean=True)
        for part in parts:
            finite = finite & xp.all(xp.isfinite(part), axis=tuple(range(2, part.ndim)))
        kept = int(xp.sum(xp.astype(finite, xp.int64)))
        self.conditioned = replace(conditioned, **{
            name: xp.where(xp.reshape(finite, (*finite.shape, *([1] * (part.ndim - 2)))), part, 0.0)
            for name, part in zip(("reducer", "shift", "toward", "best_mean", "best_variance"), parts, strict=True)
        })  # fmt: skip
        self.maximizers = drawn
        self._weight = xp.astype(finite, drawn.x.dtype)[..., None] / max(1, kept)
        post = conditioned.post
        samples = finite.shape[0] * finite.shape[1]
        super().__init__(
            drawn.x,
            samples * (2 * conditioned.functionals.length + conditioned.reducer.shape[-2]) + post.data.count,
            {
                "samples": samples,
                "dropped": samples - kept,
                "ep_sweeps": conditioned.sites.sweeps,
                "ep_residual": float(xp.max(conditioned.sites.residual)),
                "active_bounds": float(xp.mean(xp.astype(drawn.active, drawn.x.dtype))),
                "jitter": max(float(xp.max(conditioned.jitter)), float(np.max(to_numpy(post.jitter), initial=0.0))),
            },
        )

    def _value(self, X: Array) -> Array:
        p = self.conditioned.variances(X)
        return self._information(p, self.conditioned.truncate(p)).value

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        c = self.conditioned
        p = c.variances(X)
        cut = c.truncate(p)
        info = self._information(p, cut)
        # The reduction and V11 = v - reduction, the covariance and the mean are functions of q; C3 of all of them.
        xp = namespace(X)
        by_reduction = 2.0 * info.by_total * (1.0 - cut.by_variance)
        by_q = by_reduction[..., None] * xp.matmul(p.reduced, c.reducer)
        by_q = by_q + (info.by_total * cut.by_covariance)[..., None] * c.toward[..., None, :]
        by_mean = info.by_total * cut.by_mean
        by_q = by_q + by_mean[..., None] * c.shift[..., None, :]
        by_variance = info.by_variance + info.by_total * cut.by_variance
        return info.value, c.pull_back(X, p, by_variance, by_mean, by_q)

    def _information(self, p: Prediction, cut: Truncation) -> _Information:
        """The score, and the derivatives of its summands in v(x) and in the total reduction."""
        xp = namespace(p.mean)
        noise_variance = self.conditioned.post.hyper.noise_variance[:, None, None]
        total = xp.minimum(p.reduction + cut.reduction, p.variance * (1.0 - SURE))
        before = xp.maximum(p.variance + noise_variance, TINY)
        after = before - total
        value = xp.sum(self._weight * -0.5 * xp.log1p(-total / before), axis=(0, 1))
        by_total = self._weight * 0.5 / after
        return _Information(value, by_total, -by_total * total / before)


class _Information(NamedTuple):
    value: Array
    """Shape (m,)."""
    by_total: Array
    """Shape (H, S, m)."""
    by_variance: Array
    """Shape (H, S, m)."""


SURE = 1e-12
"""No sample is taken to leave less than this share of the variance."""
TINY = 1e-300
