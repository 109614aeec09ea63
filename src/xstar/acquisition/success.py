"""The chance that an evaluation succeeds, learned from those that failed.

    p(x) = Phi(g(x)),    g ~ GP(1, k),    success at x_i has the likelihood Phi(g(x_i)), failure Phi(-g(x_i))

EP gives each result a Gaussian site, so the posterior of g is that of a GP with one noisy observation per result, and
P(success at x) = Phi(m / sqrt(1 + v)). Hyperparameters are averaged over a small grid, weighted by EP's evidence: how
wide the regions are, how sharp their borders, and whether one coordinate alone decides, as it often does.

Notation
    G    hyperparameters of the grid        n    results        m    points x
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.acquisition.base import Score
from xstar.entropy.ep import expectation_propagation
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel
from xstar.gp.observations import check_points
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.numerics.normal import hazard, log_ndtr

OPTIMISM = 1.0
"""The prior mean of g: where nothing is known, success is more likely than not."""
AMPLITUDES = (1.5, 5.0)
LENGTHSCALES = (0.1, 0.2, 0.4, 0.8)
ALONE, OTHERS = (0.15, 0.4), 3.0
"""Lengthscales of a coordinate that decides alone, and of those that do not matter then."""
MOST = 48
"""Of each kind of result, the nearest to the other kind are used: they are where the border is."""


@dataclass(frozen=True)
class Success:
    """P(success), averaged over G hyperparameters."""

    post: Posterior
    """Of g - 1, leading axis G."""
    log_weight: Array
    """Shape (G,)."""

    @classmethod
    def fit(cls, kernel: Kernel, good: Array, failed: Array) -> Success:
        """From points that succeeded (n, d), maybe none, and that failed (n', d), at least one."""
        good, failed = to_numpy(good), to_numpy(failed)
        chosen = np.concatenate([_nearest(good, failed), _nearest(failed, good)])
        sign = np.repeat([1.0, -1.0], [min(len(good), MOST), min(len(failed), MOST)])
        hyper = _grid(chosen.shape[1])
        X = move(chosen, chosen)
        covariance = kernel.covariance(hyper, X, X) * (sign[:, None] * sign)
        mean = np.broadcast_to(OPTIMISM * sign, covariance.shape[:-1])
        none = np.zeros_like(mean)
        sites = expectation_propagation(mean, covariance, none, none + 1.0, none == 0.0, tolerance=1e-3, max_sweeps=30)
        precision = np.maximum(sites.precision, 1e-12)
        latent = sign * sites.shift / precision - OPTIMISM
        evidence = np.where(np.isfinite(sites.log_evidence), sites.log_evidence, -np.inf)
        weight = np.exp(evidence - np.max(evidence))
        kept = weight > 1e-3
        post = Posterior(kernel, hyper.take(np.flatnonzero(kept)), X, latent[kept], 1.0 / np.sqrt(precision[kept]))
        return cls(post, np.log(weight[kept] / weight[kept].sum()))

    def log_probability(self, X: Any) -> Array:
        """log P(success) at points (m, d), shape (m,)."""
        mean, variance = self.post.predict(X)
        return self._mixed(log_ndtr((mean + OPTIMISM) / np.sqrt(1.0 + variance)))

    def log_probability_gradient(self, X: Any) -> tuple[Array, Array]:
        """The same with its gradient (m, d)."""
        mean, variance, mean_slope, variance_slope = self.post.predict_gradient(X)
        root = np.sqrt(1.0 + variance)
        z = (mean + OPTIMISM) / root
        each = log_ndtr(z)
        value = self._mixed(each)
        slope = mean_slope / root[..., None] - (0.5 * z / root**2)[..., None] * variance_slope
        share = np.exp(each + self.log_weight[:, None] - value)
        return value, np.sum((share * hazard(z))[..., None] * slope, axis=0)

    def _mixed(self, each: Array) -> Array:
        weighed = each + self.log_weight[:, None]
        highest = np.max(weighed, axis=0)
        return highest + np.log(np.sum(np.exp(weighed - highest), axis=0))


class Weighed(Score):
    """A score times P(success)^power, or plus power log P(success) where scores are logarithms or values.

    With a `threshold`, P(success) above it is as good as certain.
    """

    def __init__(self, score: Score, success: Success, power: float, threshold: float = 1.0) -> None:
        self.score, self.success, self.power, self.log_threshold = score, success, power, float(np.log(threshold))
        self.num_problems, self.additive = score.num_problems, score.additive
        super().__init__(score._like, score._elements, score.diagnostics)

    def screen(self, X: Any, /) -> Array:
        value = self.score.screen(X)
        return self._combine(value, self._penalty(X)[0])

    def value(self, x: Array, problems: HostArray, /) -> Array:
        value = self.score.value(x, problems)
        return self._combine(value, self._penalty(_rows(x))[0].reshape(value.shape))

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        value, gradient, _ = self.score.evaluate(x, problems)
        penalty, slope = self._penalty(_rows(x))
        penalty, slope = penalty.reshape(value.shape), slope.reshape(gradient.shape)
        return Evaluation(self._combine(value, penalty), self._combine_slopes(value, gradient, penalty, slope))

    def _value(self, X: Array) -> Array:
        return self._combine(self.score._value(X), self._penalty(X)[0])

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        value, gradient = self.score._value_and_gradient(X)
        penalty, slope = self._penalty(X)
        return self._combine(value, penalty), self._combine_slopes(value, gradient, penalty, slope)

    def _penalty(self, X: Any) -> tuple[Array, Array]:
        """What is added to the score or its logarithm, with its gradient."""
        log_p, slope = self.success.log_probability_gradient(check_points(X, "X"))
        log_p = move(to_numpy(log_p), self._like)
        slope = move(to_numpy(slope), self._like)
        xp = namespace(log_p)
        low = log_p < self.log_threshold
        return (
            self.power * xp.where(low, log_p - self.log_threshold, 0.0),
            self.power * xp.where(low[..., None], slope, 0.0),
        )

    def _combine(self, value: Array, penalty: Array) -> Array:
        xp = namespace(value)
        # A score below zero (ES has some) must not gain by a small weight.
        return value + penalty if self.additive else xp.maximum(value, 0.0 * value) * xp.exp(penalty)

    def _combine_slopes(self, value: Array, gradient: Array, penalty: Array, slope: Array) -> Array:
        xp = namespace(value)
        if self.additive:
            return gradient + slope
        weight = xp.where(value > 0.0, xp.exp(penalty), 0.0)
        return weight[..., None] * (gradient + value[..., None] * slope)


def _rows(x: Array) -> HostArray:
    host = to_numpy(x)
    return host.reshape(-1, host.shape[-1])


def _grid(dimension: int) -> Hyperparameters:
    rows = [np.full(dimension, scale) for scale in LENGTHSCALES]
    if dimension > 1:
        for scale in ALONE:
            rows.extend(np.where(np.arange(dimension) == k, scale, OTHERS) for k in range(dimension))
    lengthscales = np.concatenate([rows] * len(AMPLITUDES))
    return Hyperparameters(lengthscales, np.repeat(AMPLITUDES, len(rows)), np.zeros(len(lengthscales)))


def _nearest(points: HostArray, others: HostArray) -> HostArray:
    """The points closest to any of the others, MOST at most."""
    if len(points) <= MOST:
        return points
    gap = np.min(np.sum((points[:, None, :] - others[None, :, :]) ** 2, axis=-1), axis=1, initial=np.inf)
    return points[np.sort(np.argsort(gap, kind="stable")[:MOST])]
