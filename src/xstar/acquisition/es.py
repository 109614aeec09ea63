"""Entropy Search: how much an observation at x sharpens the distribution of the maximizer over representer points.

[HS12] Hennig & Schuler, "Entropy search for information-efficient global optimization", 2012. Representers z_1 ... z_N
are drawn with density u, proportional to expected improvement. p_i, the probability that f is largest at z_i, comes
from EP over the N - 1 orderings f(z_i) >= f(z_j), which also gives its derivatives in the mean and the covariance at
the representers: with g_i and Q_i the first and minus the second derivative of log p_i in the mean, an observation at
x that comes out w standard deviations from its prediction changes

    log p_i  by  b w - c w^2 / 2 - b^2 / 2 + c / 2,    b = g_i . a,  c = a . Q_i a,  a = cov(f(z), f(x) | D) / sd(y(x))

to first order in the innovation of the covariance. The score is the expected change of sum_i p_i log(p_i u_i), in nats.

Notation
    H    hyperparameter samples      N    representers      m    points x
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from xstar.acquisition.base import Acquisition, Score, fantasize
from xstar.acquisition.improvement import ImprovementScore
from xstar.acquisition.prepared import Prepared
from xstar.entropy.conditioned import LEAST_VARIANCE
from xstar.entropy.ep import EPSettings, expectation_propagation, site_factor
from xstar.errors import SettingsError
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, add_diagonal, identity, move, namespace, solve_lower, to_numpy, zeros
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import instance, integer, positive
from xstar.numerics.designs import sobol
from xstar.numerics.random import Generators, Random
from xstar.search.box import distinct
from xstar.search.region import Region

STEP = 1e-5
"""Of the difference quotients: the cube has side 1, and scores are exact to about 1e-12."""


@dataclass(frozen=True)
class ESSettings:
    """What Entropy Search may be tuned by (`python -m benchmarks.accuracy` compares it with the truth).

    Parameters
    ----------
    num_candidates : int
        Sobol points among which the representers are drawn.
    num_outcomes : int
        Gauss-Hermite nodes for the outcome of an observation.
    least_difference : float
        Values whose difference has less variance than this share of the largest are not ordered.
    nugget : float
        Variance of the representers' own noise, as a share of their mean variance: close ones have values that are
        combinations of each other, and EP needs them apart.
    ep : EPSettings
        Of the orderings. A probability of the maximum need not be exact, and there are many.
    """

    num_candidates: int = 2048
    num_outcomes: int = 20
    least_difference: float = 1e-7
    nugget: float = 1e-5
    ep: EPSettings = field(default_factory=lambda: EPSettings(tolerance=1e-4, max_sweeps=50))

    def __post_init__(self) -> None:
        integer(self.num_candidates, "num_candidates", 2)
        integer(self.num_outcomes, "num_outcomes", 1)
        positive(self.least_difference, "least_difference")
        positive(self.nugget, "nugget")
        instance(self.ep, "ep", EPSettings, "EPSettings()")


@dataclass(frozen=True)
class ES(Acquisition):
    """Entropy Search: the expected information about which of some representer points is best, in nats.

    Its gradient is a difference quotient.

    Parameters
    ----------
    num_representers : int
        Points that stand for the cube.
    settings : ESSettings
        Everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import ES
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> ES(num_representers=8).prepare(post, np.random.default_rng(0))([[0.1], [0.8]]).shape
    (2,)
    """

    num_representers: int = 40
    settings: ESSettings = ESSettings()

    def __post_init__(self) -> None:
        integer(self.num_representers, "num_representers", 2)
        instance(self.settings, "settings", ESSettings, "ESSettings()")

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        if isinstance(rng, Generators) or post.batch_shape[0] > 1:
            raise SettingsError("ES is for one problem at a time.")
        later = fantasize(post, pending)
        design = sobol(self.settings.num_candidates, post.dimension, rng)
        candidates = move(distinct(region.domain.snap(design)), post.data.X)
        log_weight = to_numpy(Prepared(ImprovementScore(later, logarithm=True))(candidates))
        if region.restriction is not None:
            log_weight = log_weight + region.restriction.penalty(to_numpy(candidates))
        # The largest of log weight + Gumbel noise are a draw without replacement, in proportion to the weights.
        picked = np.argsort(-(log_weight + rng.gumbel(size=len(log_weight))), kind="stable")[: self.num_representers]
        representers = move(to_numpy(candidates)[picked], post.data.X)
        return ESScore(later.joined(), representers, move(log_weight[picked], post.data.X), self.settings)


@dataclass(frozen=True)
class ESScore(Score):
    """The expected gain of information in nats."""

    post: Posterior
    """Leading axis H."""
    representers: Array
    """z, shape (N, d)."""
    log_density: Array
    """log u, shape (N,)."""
    settings: ESSettings = ESSettings()

    @property
    def like(self) -> Array:
        return self.representers

    @property
    def num_problems(self) -> int:
        return 1

    @property
    def elements_per_point(self) -> int:
        H, N = self._beliefs.log_p.shape
        return int(H * N * (N + self.settings.num_outcomes))

    @property
    def diagnostics(self) -> Mapping[str, Any]:
        residual = float(namespace(self.representers).max(self._beliefs.residual))
        return {"representers": len(self.log_density), "ep_sweeps": self._beliefs.sweeps, "ep_residual": residual}

    @cached_property
    def _beliefs(self) -> Beliefs:
        xp = namespace(self.representers)
        mean, covariance = self.post.joint(self.representers)
        # Close representers have values that are combinations of each other; noise of their own keeps EP sound.
        nugget = self.settings.nugget * xp.mean(xp.linalg.diagonal(covariance), axis=-1, keepdims=True)
        noisy = add_diagonal(covariance, xp.broadcast_to(nugget, mean.shape))
        return maximum_probabilities(mean, noisy, self.settings)

    @cached_property
    def _whitened(self) -> Array:
        """L^{-1} k(X, z), shape (H, n, N)."""
        return self.post.whiten(self.post.kernel.covariance(self.post.hyper, self.post.data.X, self.representers))

    def value(self, X: Array, /) -> Array:
        xp = namespace(X)
        X = X[0, ...]
        kernel, hyper = self.post.kernel, self.post.hyper
        whitened = self.post.whiten(kernel.covariance(hyper, self.post.data.X, X))
        cross = kernel.covariance(hyper, X, self.representers)
        cross = cross - xp.matmul(xp.linalg.matrix_transpose(whitened), self._whitened)
        variance = xp.clip(hyper.variance[:, None] - xp.sum(whitened * whitened, axis=-2), min=0.0)
        least = LEAST_VARIANCE * hyper.variance[:, None]
        a = cross / xp.sqrt(xp.maximum(variance + hyper.noise_variance[:, None], least))[..., None]
        b = xp.matmul(a, xp.linalg.matrix_transpose(self._beliefs.slope))
        c = xp.sum(xp.matmul(a[:, None, :, :], self._beliefs.bend) * a[:, None, :, :], axis=-1)
        b, c = b[..., None], xp.linalg.matrix_transpose(c)[..., None]
        points, shares = np.polynomial.hermite_e.hermegauss(self.settings.num_outcomes)
        nodes, weights = move(points, X), move(shares / shares.sum(), X)
        change = b * nodes - 0.5 * c * nodes**2 - 0.5 * b * b + 0.5 * c
        before = self._beliefs.log_p[:, None, :]
        after = _normalized(before[..., None] + change, axis=-2)
        gain = self._information(after, self.log_density[:, None], axis=-2) @ weights
        return xp.mean(gain - self._information(before, self.log_density, axis=-1), axis=0)[None, :]

    def evaluate(self, X: Array, /) -> Evaluation:
        """Return scores and difference quotients of them."""
        xp = namespace(X)
        d = int(X.shape[-1])
        steps = STEP * identity(d, X)
        slopes = []
        for i in range(d):
            slopes.append((self.value(X + steps[i, :]) - self.value(X - steps[i, :])) / (2.0 * STEP))
        return Evaluation(self.value(X), xp.stack(slopes, axis=-1))

    @staticmethod
    def _information(log_p: Array, log_density: Array, axis: int) -> Array:
        """sum p log(p u)."""
        xp = namespace(log_p)
        return xp.sum(xp.exp(log_p) * (log_p + log_density), axis=axis)


class Beliefs(NamedTuple):
    """About which of N values is the largest."""

    log_p: Array
    """Shape (H, N)."""
    slope: Array
    """Its gradient in the mean, shape (H, N, N)."""
    bend: Array
    """Minus its Hessian in the mean, shape (H, N, N, N)."""
    sweeps: int
    """Of EP."""
    residual: Array
    """Of EP, shape (H, N)."""


def maximum_probabilities(mean: Array, covariance: Array, settings: ESSettings | None = None) -> Beliefs:
    """Return the probability that each entry of Gaussian vectors (H, N) is the largest; `covariance` (H, N, N)."""
    settings = settings or ESSettings()
    xp = namespace(mean)
    H, N = mean.shape
    pairs = move(np.stack([np.eye(N)[i] - np.delete(np.eye(N), i, axis=0) for i in range(N)]), mean)
    transposed = xp.linalg.matrix_transpose(pairs)
    m0 = xp.matmul(pairs, mean[:, None, :, None])[..., 0]
    V0 = xp.matmul(xp.matmul(pairs, covariance[:, None, :, :]), transposed)
    nothing = zeros((H, N, N - 1), mean)
    scale = xp.max(xp.linalg.diagonal(covariance), axis=-1)[:, None, None]
    # Values that differ by rounding alone are not ordered.
    imposed = xp.linalg.diagonal(V0) > settings.least_difference * scale
    sites = expectation_propagation(m0, V0, nothing, nothing, imposed, settings.ep)
    r = sites.shift - sites.precision * sites.mean
    root = xp.sqrt(sites.precision)
    half = solve_lower(site_factor(V0, root), root[..., :, None] * pairs)
    return Beliefs(
        _normalized(sites.log_evidence, axis=-1),
        xp.matmul(transposed, r[..., None])[..., 0],
        xp.matmul(xp.linalg.matrix_transpose(half), half),
        sites.sweeps,
        sites.residual,
    )


def _normalized(log_p: Array, axis: int) -> Array:
    """Logarithms of probabilities that sum to one along the axis."""
    xp = namespace(log_p)
    highest = xp.max(log_p, axis=axis, keepdims=True)
    return log_p - highest - xp.log(xp.sum(xp.exp(log_p - highest), axis=axis, keepdims=True))
