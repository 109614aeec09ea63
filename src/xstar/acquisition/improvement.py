"""Expected improvement over the best posterior mean at the data (pending points included), and its logarithm.

With z = (mean - best) / sd, EI = sd (phi(z) + z Phi(z)) = sd Phi(z) (hazard(z) + z): a product of positive terms, so
its logarithm is exact over hundreds of decades, which is what makes it easy to maximize [AEDBB23] Ament et al.,
"Unexpected improvements to expected improvement", 2023.
"""

from __future__ import annotations

from dataclasses import dataclass

from xstar.acquisition.base import Acquisition, Score, fantasize
from xstar.entropy.maximizers import Region
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy
from xstar.numerics.normal import log_ndtr, truncated_moments
from xstar.numerics.streams import Random
from xstar.search.candidates import inside_cube

LEAST_SD = 1e-10
"""The predicted standard deviation is not taken below this share of the amplitude."""


@dataclass(frozen=True)
class EI(Acquisition):
    """Expected improvement, averaged over hyperparameter samples."""

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        return ImprovementScore(fantasize(post, pending), logarithm=False)


@dataclass(frozen=True)
class LogEI(Acquisition):
    """The logarithm of expected improvement: the same ranking, without underflow far from the best."""

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        return ImprovementScore(fantasize(post, pending), logarithm=True)


class ImprovementScore(Score):
    """EI or its logarithm."""

    def __init__(self, post: Posterior, *, logarithm: bool) -> None:
        xp = namespace(post.factor)
        R, H = post.batch_shape
        self.post, self.logarithm, self.additive = post, logarithm, logarithm
        # Without data there is nothing to improve on but the prior mean.
        # Fantasies have values of their own for each hyperparameter sample, but all at the same points.
        points = post.data.X[:, :1, ...]
        inside = move(inside_cube(points), points)
        none = xp.zeros_like(post.hyper.amplitude)
        self.best = none
        if points.shape[-2] > 0:
            best = xp.max(xp.where(inside, post.predict_mean(points), -xp.inf), axis=-1)
            self.best = xp.where(xp.isfinite(best), best, none)
        diagnostics = {"best": to_numpy(self.best[0, ...]).tolist()} if R == 1 else {}
        super().__init__(post.data.X, R, R * H * (2 + post.data.count), diagnostics)

    def _take(self, problems: HostArray) -> ImprovementScore:
        return ImprovementScore(self.post.take(problems), logarithm=self.logarithm)

    def _value(self, X: Array) -> Array:
        mean, variance = self.post.predict(X[:, None, ...])
        return self._combine(self._log_improvement(mean, self._sd(variance)))

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        xp = namespace(X)
        mean, variance, mean_slope, variance_slope = self.post.predict_gradient(X[:, None, ...])
        sd = self._sd(variance)
        each = self._log_improvement(mean, sd)
        value = self._combine(each)
        z = (mean - self.best[..., None]) / sd
        excess = truncated_moments(z).excess
        sd_slope = 0.5 * variance_slope / sd[..., None]
        slope = (sd_slope + (mean_slope - z[..., None] * sd_slope) / excess[..., None]) / sd[..., None]
        share = xp.exp(each - value[:, None, :]) if self.logarithm else xp.exp(each)
        return value, xp.sum(share[..., None] * slope, axis=1) / each.shape[1]

    def _sd(self, variance: Array) -> Array:
        xp = namespace(variance)
        return xp.sqrt(xp.maximum(variance, (LEAST_SD * self.post.hyper.amplitude[..., None]) ** 2))

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
