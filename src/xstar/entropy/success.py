"""The chance that an evaluation succeeds, learned from those that failed.

    p(x) = Phi(g(x)),    g ~ GP(m, k),    success at x_i has the likelihood Phi(g(x_i)), failure Phi(-g(x_i))

EP gives each result a Gaussian site, so the posterior of g is that of a GP with one noisy observation per result, and
P(success at x) = Phi(mean / sqrt(1 + variance)). Hyperparameters are averaged over a small grid, weighted by EP's
evidence: how often evaluations succeed at all, how wide the regions are, how sharp their borders, and whether one
coordinate alone decides, as it often does.

The maximum that is looked for is one that can be evaluated: `Restricted` functions are punished where success is
unlikely.

Notation
    G    hyperparameters of the grid        n    results        m    points x
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xstar.entropy.ep import expectation_propagation
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel
from xstar.gp.paths import Paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.numerics.designs import sobol
from xstar.numerics.normal import hazard, log_ndtr
from xstar.search import Domain, cube, inside_cube

BASE_RATES = (0.6, 0.85, 0.96)
"""The chance of success where nothing is known."""
AMPLITUDES = (1.5, 5.0)
LENGTHSCALES = (0.1, 0.2, 0.4, 0.8)
ALONE, OTHERS = (0.15, 0.4), 3.0
"""Lengthscales of a coordinate that decides alone, and of those that do not matter then."""
MOST = 48
"""Of each kind of result so many are used: half of them nearest to the other kind, where the border is."""
DELEGATES = 24
"""Hyperparameters that stand for the whole grid in predictions."""
SAFE, NEARLY = 0.9, 0.95
"""A point is likely to succeed if its chance is 0.9, or 0.95 of the highest chance anywhere if that is less."""
SAFEST = 0.98
"""For a recommendation: the best point among those of some chance tends to be at the edge of them."""
CLIFF, HIGHER_CLIFF = 200.0, 1e12
"""How steeply the logarithm of a smaller chance is punished; the higher one is for logarithms of scores, which may
differ by any amount between one place and another."""


@dataclass(frozen=True)
class Success:
    """P(success), averaged over G hyperparameters."""

    post: Posterior
    """Of g - m, leading axis G."""
    mean: HostArray
    """m, shape (G,)."""
    log_weight: HostArray
    """Shape (G,)."""
    highest: float = 0.0
    """The logarithm of the largest chance of any legal point."""
    level: float = SAFE
    """The chance from which on a point is likely to succeed, if there are such points."""

    @classmethod
    def fit(cls, kernel: Kernel, good: HostArray, failed: HostArray, domain: Domain | None = None) -> Success:
        """From points that succeeded (n, d), maybe none, and that failed (n', d), at least one.

        `domain` says which points are legal (default: the whole cube); data may lie outside it.
        """
        used = _representative(good, failed), _representative(failed, good)
        X = np.concatenate(used)
        sign = np.repeat([1.0, -1.0], [len(part) for part in used])
        hyper, prior_mean = _grid(X.shape[1])
        covariance = kernel.covariance(hyper, X, X) * (sign[:, None] * sign)
        mean = prior_mean[:, None] * sign
        none = np.zeros_like(mean)
        sites = expectation_propagation(mean, covariance, none, none + 1.0, none == 0.0, tolerance=1e-3, max_sweeps=30)
        precision = np.maximum(sites.precision, 1e-12)
        latent = sign * sites.shift / precision - prior_mean[:, None]
        evidence = np.where(np.isfinite(sites.log_evidence), sites.log_evidence, -np.inf)
        kept, share = _delegates(np.exp(evidence - np.max(evidence)))
        post = Posterior(kernel, hyper.take(kept), X, latent[kept], 1.0 / np.sqrt(precision[kept]))
        model = cls(post, prior_mean[kept], np.log(share))
        domain = cube(X.shape[1]) if domain is None else domain
        spread = domain.spread(sobol(256, len(domain.blocks), np.random.default_rng(0)))
        legal = np.concatenate([spread, good[inside_cube(good)]])
        return replace(model, highest=float(np.max(model.log_probability(legal))))

    @property
    def floor(self) -> float:
        """The logarithm of the level, or of nearly the largest chance if that is less."""
        return min(math.log(self.level), math.log(NEARLY) + self.highest)

    def log_probability(self, X: HostArray) -> HostArray:
        """log P(success) at points (m, d), shape (m,)."""
        mean, variance = self.post.predict(X)
        return self._mixed(log_ndtr((mean + self.mean[:, None]) / np.sqrt(1.0 + variance)))

    def log_probability_gradient(self, X: HostArray) -> tuple[HostArray, HostArray]:
        """The same with its gradient (m, d)."""
        mean, variance, mean_slope, variance_slope = self.post.predict_gradient(X)
        root = np.sqrt(1.0 + variance)
        z = (mean + self.mean[:, None]) / root
        each = log_ndtr(z)
        value = self._mixed(each)
        slope = mean_slope / root[..., None] - (0.5 * z / root**2)[..., None] * variance_slope
        share = np.exp(each + self.log_weight[:, None] - value)
        return value, np.sum((share * hazard(z))[..., None] * slope, axis=0)

    def penalty(self, X: HostArray, power: float = 0.0, cliff: float | None = None) -> HostArray:
        """What is added to the logarithm of a score: power log P, and a cliff where success is not likely."""
        log_p = self.log_probability(X)
        steep = CLIFF if cliff is None else cliff
        return np.asarray(power * log_p + steep * np.minimum(log_p - self.floor, 0.0))

    def penalty_gradient(
        self, X: HostArray, power: float = 0.0, cliff: float | None = None
    ) -> tuple[HostArray, HostArray]:
        """The same with its gradient (m, d)."""
        log_p, slope = self.log_probability_gradient(X)
        steep = CLIFF if cliff is None else cliff
        below = log_p < self.floor
        return power * log_p + steep * below * (log_p - self.floor), (power + steep * below)[:, None] * slope

    def _mixed(self, each: HostArray) -> HostArray:
        weighed = each + self.log_weight[:, None]
        highest = np.max(weighed, axis=0)
        return np.asarray(highest + np.log(np.sum(np.exp(weighed - highest), axis=0)))


@dataclass(frozen=True)
class Restricted:
    """Sample paths, punished where success is not likely, as an objective of a search."""

    paths: Paths
    success: Success

    @property
    def num_problems(self) -> int:
        """P."""
        return self.paths.num_problems

    @property
    def dimension(self) -> int:
        """d."""
        return self.paths.dimension

    def screen(self, X: Any, /) -> Array:
        """Values at shared points (n, d), shape (P, n)."""
        value = self.paths.screen(X)
        return value + move(self.success.penalty(rows(X)).reshape(-1, value.shape[1]), value)

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Values of some paths at their own points."""
        value = self.paths.value(x, problems)
        return value + move(self.success.penalty(rows(x)).reshape(value.shape), value)

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        """The same: the chance of success is what costs."""
        return self.evaluate(x, problems)

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Values and gradients; the penalty's Hessian is not at hand."""
        value, gradient, _ = self.paths.evaluate(x, problems)
        penalty, slope = self.success.penalty_gradient(rows(x))
        return Evaluation(
            value + move(penalty.reshape(value.shape), value), gradient + move(slope.reshape(gradient.shape), value)
        )


def rows(x: Array) -> HostArray:
    """Points (..., d) as host rows (N, d)."""
    host = to_numpy(x)
    return np.asarray(host.reshape(-1, host.shape[-1]))


def _grid(dimension: int) -> tuple[Hyperparameters, HostArray]:
    """Hyperparameters and prior means of g, leading axis G."""
    scales = [np.full(dimension, scale) for scale in LENGTHSCALES]
    if dimension > 1:
        for scale in ALONE:
            scales.extend(np.where(np.arange(dimension) == k, scale, OTHERS) for k in range(dimension))
    # Rates first: where only some stand for all, they are what must be represented best.
    choices = [(row, amplitude, rate) for rate in BASE_RATES for amplitude in AMPLITUDES for row in scales]
    amplitudes = np.array([amplitude for _, amplitude, _ in choices])
    quantiles = np.array([_quantile(rate) for _, _, rate in choices])
    hyper = Hyperparameters(np.array([row for row, _, _ in choices]), amplitudes, np.zeros(len(choices)))
    return hyper, np.asarray(quantiles * np.sqrt(1.0 + amplitudes**2))


def _delegates(weight: HostArray) -> tuple[HostArray, HostArray]:
    """The indices of a few of many, and their shares, so that every part of the grid is represented by its weight."""
    places = (np.arange(DELEGATES) + 0.5) / DELEGATES
    drawn = np.searchsorted(np.cumsum(weight) / np.sum(weight), places)
    kept, times = np.unique(np.minimum(drawn, len(weight) - 1), return_counts=True)
    return kept, times / DELEGATES


def _quantile(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))


def _representative(points: HostArray, others: HostArray) -> HostArray:
    """At most MOST of the points: half of them closest to any of the others, half spread over the rest."""
    if len(points) <= MOST:
        return points
    gap = np.min(np.sum((points[:, None, :] - others[None, :, :]) ** 2, axis=-1), axis=1, initial=np.inf)
    order = np.argsort(gap, kind="stable")
    spread = np.linspace(MOST // 2, len(points) - 1, MOST - MOST // 2).astype(np.int64)
    return np.asarray(points[np.sort(np.concatenate([order[: MOST // 2], order[spread]]))])
