"""The probability that an evaluation is feasible, learned from those that failed.

    p(x) = Phi(g(x)),    g ~ GP(m, k),    feasible at x_i has the likelihood Phi(g(x_i)), infeasible Phi(-g(x_i))

EP gives each result a Gaussian site, so the posterior of g is that of a GP with one noisy observation per result, and
P(feasible at x) = Phi(mean / sqrt(1 + variance)). Hyperparameters are averaged over a small grid, weighted by EP's
evidence: how often evaluations are feasible at all, how wide the regions are, how sharp their borders, and whether one
coordinate alone decides, as it often does.

Notation
    G    hyperparameters of the grid        n    results        m    points x
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from xstar.entropy.ep import EPSettings, expectation_propagation
from xstar.feasibility.latent import Latent
from xstar.feasibility.penalized import Penalized
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel, Matern52
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import instance, integer, positive, share
from xstar.numerics.designs import sobol
from xstar.numerics.normal import hazard, log_ndtr
from xstar.search import Domain, Objective, cube, inside_cube


@dataclass(frozen=True)
class FeasibilitySettings:
    """How feasibility is modelled and imposed (chosen by `python -m benchmarks.failures`)."""

    kernel: Kernel = field(default_factory=Matern52)
    base_rates: tuple[float, ...] = (0.6, 0.85, 0.96)
    """The probability of feasibility where nothing is known."""
    amplitudes: tuple[float, ...] = (1.5, 5.0)
    lengthscales: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8)
    deciding_lengthscales: tuple[float, ...] = (0.15, 0.4)
    """Of a coordinate that decides alone."""
    other_lengthscale: float = 3.0
    """Of those that do not matter then."""
    max_results: int = 48
    """Of each kind of result so many are used: half of them nearest to the other kind, where the border is."""
    num_delegates: int = 24
    """Hyperparameters that stand for the whole grid in predictions."""
    level: float = 0.9
    """The probability from which on a point is likely to be feasible, if there are such points."""
    relative_level: float = 0.95
    """Otherwise, this share of the highest probability anywhere."""
    recommended_level: float = 0.98
    """For a recommendation: the best point of those above a level tends to be at the edge of them."""
    steepness: float = 200.0
    """How steeply the logarithm of a smaller probability is penalized."""
    steepness_of_logarithms: float = 1e12
    """The same for logarithms of scores, which may differ by any amount between one place and another."""
    onset: float = 0.02
    """So far below the level the penalty on the log probability becomes that steep, from nothing at the level."""
    margin: float = 1e-3
    """A log probability this much above the level does not hold a maximum back."""
    slack: float = 0.05
    """How far below the level a log probability may be and still count as likely."""
    ep: EPSettings = field(default_factory=lambda: EPSettings(tolerance=1e-3, max_sweeps=30))
    """Of the results: many hyperparameters share them, and none needs to be exact."""

    def __post_init__(self) -> None:
        for name in ("base_rates", "amplitudes", "lengthscales", "deciding_lengthscales"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            for value in getattr(self, name):
                positive(value, name)
        for rate in (*self.base_rates, self.level, self.recommended_level):
            positive(rate, "a probability of feasibility", below=1.0)
        share(self.relative_level, "relative_level")
        positive(self.onset, "onset")
        for name in ("max_results", "num_delegates"):
            integer(getattr(self, name), name, 1)
        instance(self.kernel, "kernel", Kernel, "Matern52()")


@dataclass(frozen=True)
class Feasibility:
    """P(feasible), averaged over G hyperparameters."""

    post: Posterior
    """Of g - m, leading axis G."""
    mean: HostArray
    """m, shape (G,)."""
    log_weight: HostArray
    """Shape (G,)."""
    settings: FeasibilitySettings = FeasibilitySettings()
    highest: float = 0.0
    """The logarithm of the largest probability of any legal point."""

    @classmethod
    def fit(
        cls,
        feasible: HostArray,
        infeasible: HostArray,
        domain: Domain | None = None,
        settings: FeasibilitySettings | None = None,
    ) -> Feasibility:
        """Fit to feasible points (n, d), maybe none, and infeasible ones (n', d), at least one.

        `domain` says which points are legal (default: the whole cube); data may lie outside it.
        """
        settings = settings or FeasibilitySettings()
        most = settings.max_results
        used = _representative(feasible, infeasible, most), _representative(infeasible, feasible, most)
        X = np.concatenate(used)
        sign = np.repeat([1.0, -1.0], [len(part) for part in used])
        hyper, prior_mean = _grid(X.shape[1], settings)
        covariance = settings.kernel.covariance(hyper, X, X) * (sign[:, None] * sign)
        mean = prior_mean[:, None] * sign
        none = np.zeros_like(mean)
        sites = expectation_propagation(mean, covariance, none, none + 1.0, none == 0.0, settings.ep)
        precision = np.maximum(sites.precision, 1e-12)
        latent = sign * sites.shift / precision - prior_mean[:, None]
        evidence = np.where(np.isfinite(sites.log_evidence), sites.log_evidence, -np.inf)
        kept, share = _delegates(np.exp(evidence - np.max(evidence)), settings.num_delegates)
        post = Posterior(settings.kernel, hyper.take(kept), X, latent[kept], 1.0 / np.sqrt(precision[kept]))
        model = cls(post, prior_mean[kept], np.log(share), settings)
        domain = cube(X.shape[1]) if domain is None else domain
        spread = domain.spread(sobol(256, len(domain.blocks), np.random.default_rng(0)))
        legal = np.concatenate([spread, feasible[inside_cube(feasible)]])
        return replace(model, highest=float(np.max(model.log_probability(legal))))

    @property
    def floor(self) -> float:
        """The logarithm of the level, or of nearly the largest probability if that is less."""
        return min(math.log(self.settings.level), math.log(self.settings.relative_level) + self.highest)

    def at_level(self, level: float) -> Feasibility:
        """Return the same model with another level."""
        return replace(self, settings=replace(self.settings, level=level))

    def probability(self, X: HostArray) -> HostArray:
        """P(feasible) at points (m, d), shape (m,)."""
        return np.minimum(np.exp(self.log_probability(X)), 1.0)

    def log_probability(self, X: HostArray) -> HostArray:
        """log P(feasible) at points (m, d), shape (m,)."""
        return self.log_probability_gradient(X, -math.inf)[0]

    def log_probability_gradient(self, X: HostArray, below: float = math.inf) -> tuple[HostArray, HostArray]:
        """The same with its gradient (m, d), which is left at zero where log P is not `below`.

        With z = mean / root and root^2 = 1 + variance, it is that of a sum over all hyperparameters, each with the
        weight  share hazard(z)  before the gradient of its z.
        """
        X, latent = np.asarray(X, dtype=np.float64), self._latent
        value, gradient = np.empty(len(X)), np.zeros(X.shape)
        for block in latent.blocks(X):
            found = latent.predict(X[block])
            root = np.sqrt(1.0 + found.variance)
            z = found.mean / root
            each = log_ndtr(z) + self.log_weight[:, None]
            highest = np.max(each, axis=0)
            value[block] = highest + np.log(np.sum(np.exp(each - highest), axis=0))
            rows = np.flatnonzero(value[block] < below)
            if len(rows):
                z, root = z[:, rows], root[:, rows]
                steep = np.exp(each[:, rows] - value[block][rows]) * hazard(z) / root
                part = found._replace(distance=found.distance[:, rows], explained=found.explained[:, rows])
                gradient[block.start + rows] = latent.pull_back(X[block][rows], part, steep, -0.5 * steep * z / root)
        return value, gradient

    def is_likely(self, X: HostArray) -> HostArray:
        """Whether evaluations at points (m, d) are likely to be feasible, shape (m,)."""
        return np.asarray(self.log_probability(X) >= self.floor - self.settings.slack)

    def reaches_level(self, X: HostArray) -> HostArray:
        """Whether they reach the level without any slack, so that nothing is taken off a score, shape (m,)."""
        return np.asarray(self.log_probability(X) >= self.floor)

    def penalty(self, X: HostArray, power: float = 0.0, steepness: float | None = None) -> HostArray:
        """What is added to the logarithm of a score: power log P, and a steep penalty below the level.

        It begins with a parabola, so that a maximum which it holds back is as smooth as any.
        """
        log_p = self.log_probability(X)
        return np.asarray(power * log_p - self._steepness(steepness) * self._shortfall(log_p).penalty)

    def penalty_derivatives(
        self, X: HostArray, power: float = 0.0, steepness: float | None = None
    ) -> tuple[HostArray, HostArray, HostArray]:
        """The same with its gradient (m, d) and, roughly, the Hessian (m, d, d) of the steep penalty.

        That is as if log P were linear, as in Gauss-Newton; and where the penalty is a straight line, the Hessian of
        the parabola that has its slope there and its top at the level, so that a step along it leads to the level.
        """
        # Where evaluations are likely to be feasible, nothing is added that has a slope.
        log_p, slope = self.log_probability_gradient(X, self.floor if power == 0.0 else math.inf)
        steep, short = self._steepness(steepness), self._shortfall(log_p)
        bend = steep * short.slope / np.maximum(short.amount, 1e-300)
        return (
            power * log_p - steep * short.penalty,
            (power + steep * short.slope)[:, None] * slope,
            -bend[:, None, None] * slope[:, :, None] * slope[:, None, :],
        )

    def restrict(self, objective: Objective) -> Penalized:
        """Return functions whose maxima are where evaluations are likely to be feasible."""
        return Penalized(objective, self)

    def weigh(self, objective: Objective, *, power: float, additive: bool) -> Penalized:
        """Return scores times P(feasible)^power, or with its logarithm added if they are `additive`."""
        steepness = self.settings.steepness_of_logarithms if additive else self.settings.steepness
        return Penalized(objective, self, power, additive, steepness)

    def binds(self, X: HostArray) -> HostArray:
        """Whether maxima that were found at points (m, d) may be held back by infeasibility, shape (m,)."""
        return np.asarray(self.log_probability(X) <= self.floor + self.settings.margin)

    def _shortfall(self, log_p: HostArray) -> _Shortfall:
        amount, onset = np.maximum(self.floor - log_p, 0.0), self.settings.onset
        within = np.minimum(amount, onset)
        return _Shortfall(amount, within * (amount - 0.5 * within) / onset, within / onset)

    def _steepness(self, given: float | None) -> float:
        return self.settings.steepness if given is None else given

    @cached_property
    def _latent(self) -> Latent:
        return Latent.of(self.post, self.mean)


class _Shortfall(NamedTuple):
    """How far log probabilities are below the level, all of shape (m,)."""

    amount: HostArray
    penalty: HostArray
    """Of Huber's form: a parabola that goes on as a straight line with a slope of 1."""
    slope: HostArray
    """Of the penalty."""


def _grid(dimension: int, settings: FeasibilitySettings) -> tuple[Hyperparameters, HostArray]:
    """Hyperparameters and prior means of g, leading axis G."""
    scales = [np.full(dimension, scale) for scale in settings.lengthscales]
    if dimension > 1:
        for scale in settings.deciding_lengthscales:
            own = np.where(np.eye(dimension, dtype=bool), scale, settings.other_lengthscale)
            scales.extend(own)
    # Rates first: where only some stand for all, they are what must be represented best.
    choices = [
        (row, amplitude, rate) for rate in settings.base_rates for amplitude in settings.amplitudes for row in scales
    ]
    amplitudes = np.array([amplitude for _, amplitude, _ in choices])
    quantiles = np.array([_quantile(rate) for _, _, rate in choices])
    hyper = Hyperparameters(np.array([row for row, _, _ in choices]), amplitudes, np.zeros(len(choices)))
    return hyper, np.asarray(quantiles * np.sqrt(1.0 + amplitudes**2))


def _delegates(weight: HostArray, count: int) -> tuple[HostArray, HostArray]:
    """The indices of a few of many, and their shares, so that every part of the grid is represented by its weight."""
    levels = (np.arange(count) + 0.5) / count
    drawn = np.searchsorted(np.cumsum(weight) / np.sum(weight), levels)
    kept, times = np.unique(np.minimum(drawn, len(weight) - 1), return_counts=True)
    return kept, times / count


def _quantile(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))


def _representative(points: HostArray, others: HostArray, most: int) -> HostArray:
    """At most so many of the points: half of them closest to any of the others, half spread over the rest."""
    if len(points) <= most:
        return points
    gap = np.min(np.sum((points[:, None, :] - others[None, :, :]) ** 2, axis=-1), axis=1, initial=np.inf)
    order = np.argsort(gap, kind="stable")
    spread = np.linspace(most // 2, len(points) - 1, most - most // 2).astype(np.int64)
    return np.asarray(points[np.sort(np.concatenate([order[: most // 2], order[spread]]))])
