"""Max-value entropy search: the information of f(x) about the maximum's value instead of its place.

With g = (f_star - mean) / sd for sampled maximum values f_star, the score is the mean of g hazard(g) / 2 - log Phi(g)
[WJ17] Wang & Jegelka, "Max-value entropy search", 2017, eq. 6. The samples are the maxima of posterior paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xstar.acquisition.base import Acquisition, Score, condition_on_pending, share_out
from xstar.acquisition.of_posterior import PosteriorScore
from xstar.entropy.maximizers import MaximizerSettings, draw_maximizers
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, namespace, take_rows
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import instance, integer
from xstar.numerics.normal import log_ndtr, log_ndtr_tail, truncated_moments
from xstar.numerics.random import Random
from xstar.search.region import Region


@dataclass(frozen=True)
class MES(Acquisition):
    """Max-value entropy search: the expected information about the value of the maximum, in nats.

    Parameters
    ----------
    num_samples : int
        At least so many sampled maximum values, as many for each hyperparameter sample.
    num_features : int
        Random features of a sample path.
    maximizers : MaximizerSettings
        How sample paths are maximized.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import MES
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> MES(num_samples=10).prepare(post, np.random.default_rng(0))([[0.1], [0.8]]).shape
    (2,)
    """

    num_samples: int = 50
    num_features: int = 512
    maximizers: MaximizerSettings = field(default_factory=MaximizerSettings)

    def __post_init__(self) -> None:
        integer(self.num_samples, "num_samples", 1)
        integer(self.num_features, "num_features", 1)
        instance(self.maximizers, "maximizers", MaximizerSettings, "MaximizerSettings()")

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        drawn = draw_maximizers(
            post, share_out(self.num_samples, post), rng, num_features=self.num_features, region=region,
            settings=self.maximizers,
        )  # fmt: skip
        return MESScore(*condition_on_pending(post, drawn.paths, pending, rng), drawn.value)


@dataclass(frozen=True)
class MESScore(PosteriorScore):
    """The information in nats."""

    post: Posterior
    alpha: Array
    """K^{-1} of each path's targets, shape (R, H, 1 or S, n)."""
    maxima: Array
    """f_star, shape (R, H, S)."""

    @property
    def elements_per_point(self) -> int:
        R, H, S = self.maxima.shape
        return int(R * H * (2 * S + 2 + self.post.data.count))

    @property
    def diagnostics(self) -> Mapping[str, Any]:
        R, H, S = self.maxima.shape
        return {"samples": R * H * S}

    def take(self, problems: HostArray, /) -> MESScore:
        return MESScore(self.post.take(problems), *(take_rows(part, problems) for part in (self.alpha, self.maxima)))

    def value(self, X: Array, /) -> Array:
        xp = namespace(X)
        X = X[:, None, ...]
        cross = self.post.kernel.covariance(self.post.hyper, X, self.post.data.X)
        g, _ = self._gap(self._mean(cross), self.post.predict(X)[1])
        return xp.mean(_information(g), axis=(1, 2))

    def evaluate(self, X: Array, /) -> Evaluation:
        xp = namespace(X)
        X = X[:, None, ...]
        cross, slopes = self.post.kernel.covariance_and_gradient(self.post.hyper, X, self.post.data.X)
        _, variance, _, variance_slope = self.post.predict_gradient(X)
        g, sd = self._gap(self._mean(cross), variance)
        moments = truncated_moments(g)
        # 1 + g (hazard + g) = variance + excess^2, without the cancellation.
        by_gap = -0.5 * moments.mean * (moments.variance + moments.excess**2) / (g.shape[1] * g.shape[2])
        by_mean = -by_gap / sd[:, :, None, :]
        through_mean = xp.sum(by_mean[..., None] * self.alpha[..., None, :], axis=2)
        by_sd = -xp.sum(by_gap * g, axis=2) / sd
        gradient = xp.sum(xp.matmul(through_mean[..., None, :], slopes)[..., 0, :], axis=1)
        gradient = gradient + xp.sum((0.5 * by_sd / sd)[..., None] * variance_slope, axis=1)
        return Evaluation(xp.mean(_information(g), axis=(1, 2)), gradient)

    def _mean(self, cross: Array) -> Array:
        return namespace(cross).matmul(cross[:, :, None, ...], self.alpha[..., None])[..., 0]

    def _gap(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """g (R, H, S, m) and sd (R, H, m)."""
        sd = self.sd(variance)
        return (self.maxima[..., None] - mean) / sd[:, :, None, :], sd


def _information(g: Array) -> Array:
    """g hazard(g) / 2 - log Phi(g); left of zero g (hazard(g) + g) / 2 - (log Phi(g) + g^2 / 2), where g^2 cancels."""
    xp = namespace(g)
    moments = truncated_moments(g)
    left = 0.5 * g * moments.excess - log_ndtr_tail(g)
    return xp.where(g > 0.0, 0.5 * g * moments.mean - log_ndtr(g), left)
