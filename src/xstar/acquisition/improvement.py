"""Expected improvement over the best posterior mean at the data (pending points included), and its logarithm.

With z = (mean - best) / sd, EI = sd (phi(z) + z Phi(z)) = sd Phi(z) (hazard(z) + z): a product of positive terms, so
its logarithm is exact over hundreds of decades, which is what makes it easy to maximize [AEDBB23] Ament et al.,
"Unexpected improvements to expected improvement", 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xstar.acquisition.base import Acquisition, Score, fantasize
from xstar.acquisition.of_posterior import PosteriorScore
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.numerics.normal import log_ndtr, truncated_moments
from xstar.numerics.random import Random
from xstar.search.candidates import inside_cube
from xstar.search.region import Region


@dataclass(frozen=True)
class EI(Acquisition):
    """Expected improvement over the incumbent, averaged over hyperparameter samples.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import EI
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> near, far = EI().prepare(post, np.random.default_rng(0))([[0.75], [0.2]])
    >>> bool(near > far)
    True
    """

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        return ImprovementScore(fantasize(post, pending), logarithm=False)


@dataclass(frozen=True)
class LogEI(Acquisition):
    """The logarithm of expected improvement: the same ranking, without underflow far from the incumbent.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import LogEI
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> near, far = LogEI().prepare(post, np.random.default_rng(0))([[0.75], [0.2]])
    >>> bool(near > far)
    True
    """

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        return ImprovementScore(fantasize(post, pending), logarithm=True)


@dataclass(frozen=True)
class ImprovementScore(PosteriorScore):
    """EI or its logarithm."""

    post: Posterior
    logarithm: bool

    @property
    def additive(self) -> bool:  # type: ignore[override]
        return self.logarithm

    @property
    def diagnostics(self) -> Mapping[str, Any]:
        return {"best": to_numpy(self.best[0, ...]).tolist()} if self.num_problems == 1 else {}

    @cached_property
    def best(self) -> Array:
        """What is improved on, shape (R, H); without data in the cube, the prior mean."""
        xp = namespace(self.post.factor)
        # Fantasies have values of their own for each hyperparameter sample, but all at the same points.
        points = self.post.data.X[:, :1, ...]
        none = xp.zeros_like(self.post.hyper.amplitude)
        if points.shape[-2] == 0:
            return none
        inside = move(inside_cube(points), points)
        best = xp.max(xp.where(inside, self.post.predict_mean(points), -xp.inf), axis=-1)
        return xp.where(xp.isfinite(best), best, none)

    def take(self, problems: HostArray, /) -> ImprovementScore:
        return ImprovementScore(self.post.take(problems), self.logarithm)

    def value(self, X: Array, /) -> Array:
        mean, variance = self.post.predict(X[:, None, ...])
        return self._combine(self._log_improvement(mean, self.sd(variance)))

    def evaluate(self, X: Array, /) -> Evaluation:
        xp = namespace(X)
        mean, variance, mean_slope, variance_slope = self.post.predict_gradient(X[:, None, ...])
        sd = self.sd(variance)
        each = self._log_improvement(mean, sd)
        value = self._combine(each)
        z = (mean - self.best[..., None]) / sd
        excess = truncated_moments(z).excess
        sd_slope = 0.5 * variance_slope / sd[..., None]
        slope = (sd_slope + (mean_slope - z[..., None] * sd_slope) / excess[..., None]) / sd[..., None]
        share = xp.exp(each - value[:, None, :]) if self.logarithm else xp.exp(each)
        return Evaluation(value, xp.sum(share[..., None] * slope, axis=1) / each.shape[1])

    def _log_improvement(self, mean: Array, sd: Array) -> Array:
        xp = namespace(mean)
        z = (mean - self.best[..., None]) / sd
        return xp.log(sd) + log_ndtr(z) + xp.log(truncated_moments(z).excess)

    def _combine(self, each: Array) -> Array:
        """The mean over hyperparameter samples, or its logarithm, from logarithms (R, H, m)."""
        xp = namespace(each)
        if not self.logarithm:
            return xp.mean(xp.exp(each), axis=1)
        highest = xp.max(each, axis=1, keepdims=True)
        return highest[:, 0, :] + xp.log(xp.mean(xp.exp(each - highest), axis=1))
