"""Max-value entropy search: the information of f(x) about the maximum's value instead of its place.

With g = (f_star - mean) / sd for sampled maximum values f_star, the score is the mean of g hazard(g) / 2 - log Phi(g)
[WJ17] Wang & Jegelka, "Max-value entropy search", 2017, eq. 6. The samples are the maxima of posterior paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xstar.acquisition.base import Acquisition, Score, fantasize
from xstar.acquisition.improvement import LEAST_SD
from xstar.entropy.maximizers import draw_maximizers
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, namespace
from xstar.numerics.checks import integer
from xstar.numerics.normal import hazard, log_ndtr, truncated_moments


@dataclass(frozen=True)
class MES(Acquisition):
    """Max-value entropy search with `num_samples` maximum values, shared out among hyperparameter samples."""

    num_samples: int = 50
    num_features: int = 512

    def __post_init__(self) -> None:
        integer(self.num_samples, "num_samples", 1)
        integer(self.num_features, "num_features", 1)

    def _prepare(self, post: Posterior, rng: np.random.Generator, pending: Array | None) -> Score:
        S = max(1, round(self.num_samples / post.batch_shape[0]))
        drawn = draw_maximizers(post, S, rng, num_features=self.num_features)
        return MESScore(fantasize(post, pending), drawn.value)


class MESScore(Score):
    """The information in nats."""

    def __init__(self, post: Posterior, maxima: Array) -> None:
        self.post, self.maxima = post, maxima
        H, S = maxima.shape
        super().__init__(post.data.X, H * (S + 2 + post.data.count), {"samples": H * S})

    def _value(self, X: Array) -> Array:
        xp = namespace(X)
        mean, variance = self.post.predict(X)
        g = self._gap(mean, self._sd(variance))
        return xp.mean(0.5 * g * hazard(g) - log_ndtr(g), axis=(0, 1))

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        xp = namespace(X)
        mean, variance, mean_slope, variance_slope = self.post.predict_gradient(X)
        sd = self._sd(variance)
        g = self._gap(mean, sd)
        moments = truncated_moments(g)
        value = xp.mean(0.5 * g * moments.mean - log_ndtr(g), axis=(0, 1))
        by_gap = -0.5 * moments.mean * (1.0 + g * moments.excess) / (g.shape[0] * g.shape[1])
        sd_slope = 0.5 * variance_slope / sd[..., None]
        by_mean = -xp.sum(by_gap, axis=1) / sd
        by_sd = -xp.sum(by_gap * g, axis=1) / sd
        return value, xp.sum(by_mean[..., None] * mean_slope + by_sd[..., None] * sd_slope, axis=0)

    def _gap(self, mean: Array, sd: Array) -> Array:
        """g, shape (H, S, m)."""
        return (self.maxima[..., None] - mean[:, None, :]) / sd[:, None, :]

    def _sd(self, variance: Array) -> Array:
        xp = namespace(variance)
        return xp.sqrt(xp.maximum(variance, (LEAST_SD * self.post.hyper.amplitude[:, None]) ** 2))
