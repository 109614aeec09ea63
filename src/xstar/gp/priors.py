"""Priors on the hyperparameters: Gamma distributions, and lengthscales with a scale in common.

All are used through the logarithm t of a hyperparameter. That of a Gamma variable has the density exp(a t - b e^t) up
to a constant, that of lengthscales with a common scale a normal one: both are log-concave, so neither MAP nor slice
sampling meets a second mode or an infinite peak because of the prior.

The normal score u of a log hyperparameter is the standard normal quantile of its prior probability; the scores of
lengthscales with a common scale are mapped to their logarithms by one symmetric matrix. Either way u has the prior
N(0, I) exactly.

Notation
    a, b     shape and rate of a Gamma distribution
    theta    log hyperparameters, in the order of `Hyperparameters`    (..., d + 2)
    u        their normal scores                                       (..., d + 2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xstar.errors import SettingsError
from xstar.numerics.arrays import Array, HostArray, move, namespace
from xstar.numerics.checks import instance, positive

OUTSIDE_BOX = 1e-6
"""Prior probability beyond each end of the box in which a hyperparameter is searched."""


@dataclass(frozen=True)
class Gamma:
    """A Gamma distribution.

    Parameters
    ----------
    shape, rate : float
        The mean is shape / rate, the standard deviation sqrt(shape) / rate.

    Examples
    --------
    >>> from xstar.gp import Gamma
    >>> round(Gamma(2.0, 2.0).quantile(0.5), 2)
    0.84
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        positive(self.shape, "shape of a Gamma")
        positive(self.rate, "rate of a Gamma")

    def quantile(self, probability: float) -> float:
        """Return the value below which a draw falls with the given probability, but at least 1e-9 of the mean.

        The quantiles of small shapes are too close to zero for a logarithm to be of use.
        """
        from scipy import special

        return max(float(special.gammaincinv(self.shape, probability)), 1e-9 * self.shape) / self.rate


@dataclass(frozen=True)
class CommonScale:
    """Log-normal lengthscales that have a scale in common: few data tell it for all coordinates.

    log l_j = log(median) + common z_0 + own z_j with independent standard normal z: whether a function is rough or
    smooth is learned from all coordinates together, and how one of them differs from the others from itself.

    Parameters
    ----------
    median : float
        Of every lengthscale, in units of the cube.
    common : float
        Standard deviation of what the logarithms have in common.
    own : float
        Standard deviation of what each of them adds.

    Examples
    --------
    >>> from xstar.gp import CommonScale, Prior
    >>> Prior(lengthscale=CommonScale(common=0.8, own=0.6)).lengthscale.median
    1.0
    """

    median: float = 1.0
    common: float = 1.0
    own: float = 0.75

    def __post_init__(self) -> None:
        for name in ("median", "common", "own"):
            positive(getattr(self, name), f"{name} of a CommonScale")

    def quantile(self, probability: float) -> float:
        """Return the value below which one lengthscale falls with the given probability."""
        from scipy import special

        return self.median * math.exp(math.hypot(self.common, self.own) * float(special.ndtri(probability)))

    def root(self, dimension: int, power: int = 1) -> HostArray:
        """Return the symmetric square root of the covariance of d logarithms, own^2 I + common^2 1 1^T, or its inverse.

        Its eigenvalues are sqrt(own^2 + d common^2) along 1 and `own` across; `power` is 1, or -1 for the inverse.
        """
        along, across = math.sqrt(self.own**2 + dimension * self.common**2) ** power, self.own**power
        return across * np.eye(dimension) + (along - across) / dimension


@dataclass(frozen=True)
class Prior:
    """Broad priors for points in the unit cube and values of standard deviation about 1.

    By default lengthscales have a scale in common and are mostly (90 %) between 0.13 and 7.8, the amplitude is between
    0.36 and 4.7, the noise between 0.005 and 0.3 (`python -m benchmarks.campaign` compares priors by their regret).

    Parameters
    ----------
    lengthscale : CommonScale, Gamma or sequence of Gamma
        For all coordinates; or independent ones, the same for all or one for each.
    amplitude, noise : Gamma
        Of standard deviations.

    Examples
    --------
    >>> from xstar.gp import MAP, Gamma, Prior
    >>> MAP(Prior(noise=Gamma(1.0, 100.0))).prior.noise.rate
    100.0
    """

    lengthscale: CommonScale | Gamma | Sequence[Gamma] = CommonScale()
    amplitude: Gamma = Gamma(2.0, 1.0)
    noise: Gamma = Gamma(1.0, 10.0)

    def __post_init__(self) -> None:
        if not isinstance(self.lengthscale, CommonScale):
            several = list(self.lengthscale) if isinstance(self.lengthscale, Sequence) else [self.lengthscale]
            for prior in several:
                instance(prior, "the prior of the lengthscale", Gamma, "Gamma(2.0, 2.0)")
        for name, prior in (("amplitude", self.amplitude), ("noise", self.noise)):
            instance(prior, f"the prior of the {name}", Gamma, "Gamma(2.0, 2.0)")

    def box(self, dimension: int) -> tuple[HostArray, HostArray]:
        """Return lower and upper ends of theta (d + 2,) that hold all but a negligible part of the prior."""
        marginals = [*self._lengthscales(dimension), self.amplitude, self.noise]
        lower = np.log([prior.quantile(OUTSIDE_BOX) for prior in marginals])
        upper = np.log([prior.quantile(1.0 - OUTSIDE_BOX) for prior in marginals])
        return lower, upper

    def box_of_scores(self, dimension: int) -> tuple[HostArray, HostArray]:
        """Return the ends of normal scores u (d + 2,), likewise."""
        lower, upper = (self.to_normal(end) for end in self.box(dimension))
        if isinstance(self.lengthscale, CommonScale):
            from scipy import special

            lower[:dimension], upper[:dimension] = special.ndtri(OUTSIDE_BOX), -special.ndtri(OUTSIDE_BOX)
        return lower, upper

    def median(self, dimension: int) -> HostArray:
        """Return theta (d + 2,) in the middle of the prior."""
        marginals = [*self._lengthscales(dimension), self.amplitude, self.noise]
        return np.log([prior.quantile(0.5) for prior in marginals])

    def log_density_and_gradient(self, theta: Array) -> tuple[Array, Array]:
        """Return log p(theta) and its gradient, shapes (...) and (..., d + 2)."""
        xp = namespace(theta)
        d = theta.shape[-1] - 2
        gammas, first = self._gammas(d)
        shape, rate = gammas
        constant = float(np.sum(shape * np.log(rate)) - sum(math.lgamma(a) for a in shape))
        own = theta[..., first:]
        a, pull = move(shape, theta), move(rate, theta) * xp.exp(own)
        value, gradient = xp.sum(a * own - pull, axis=-1) + constant, a - pull
        if not isinstance(self.lengthscale, CommonScale):
            return value, gradient
        whiten = self.lengthscale.root(d, -1)
        u = xp.matmul(theta[..., :d] - math.log(self.lengthscale.median), move(whiten, theta))
        constant = float(np.linalg.slogdet(whiten)[1]) - 0.5 * d * math.log(2.0 * math.pi)
        value = value + constant - 0.5 * xp.sum(u * u, axis=-1)
        return value, xp.concat([-xp.matmul(u, move(whiten, theta)), gradient], axis=-1)

    def to_normal(self, theta: HostArray) -> HostArray:
        """Return the normal scores u of theta (..., d + 2)."""
        from scipy import special

        d = theta.shape[-1] - 2
        (shape, rate), first = self._gammas(d)
        scaled = rate * np.exp(theta[..., first:])
        below, above = special.gammainc(shape, scaled), special.gammaincc(shape, scaled)
        # The smaller of the two probabilities is the one that is exact.
        scores = np.where(below < above, special.ndtri(below), -special.ndtri(above))
        if not isinstance(self.lengthscale, CommonScale):
            return np.asarray(scores)
        whitened = (theta[..., :d] - math.log(self.lengthscale.median)) @ self.lengthscale.root(d, -1)
        return np.concatenate([whitened, scores], axis=-1)

    def from_normal(self, u: HostArray) -> HostArray:
        """Return theta (..., d + 2) with the normal scores u."""
        from scipy import special

        d = u.shape[-1] - 2
        (shape, rate), first = self._gammas(d)
        own = u[..., first:]
        shape, tail = np.broadcast_to(shape, own.shape), special.ndtr(-np.abs(own))
        scaled, left = np.empty(own.shape), own < 0.0
        scaled[left] = special.gammaincinv(shape[left], tail[left])
        scaled[~left] = special.gammainccinv(shape[~left], tail[~left])
        theta = np.log(scaled / rate)
        if not isinstance(self.lengthscale, CommonScale):
            return np.asarray(theta)
        logarithms = math.log(self.lengthscale.median) + u[..., :d] @ self.lengthscale.root(d)
        return np.concatenate([logarithms, theta], axis=-1)

    def draw_scores(self, count: int, dimension: int, rng: np.random.Generator) -> HostArray:
        """Draw from the prior inside the box; returns normal scores (count, d + 2)."""
        return np.clip(rng.standard_normal((count, dimension + 2)), *self.box_of_scores(dimension))

    def gradient_by_scores(self, gradient: HostArray, u: HostArray, theta: HostArray) -> HostArray:
        """Return a gradient in u (..., d + 2) from the same in theta.

        For a Gamma variable d theta / d u = phi(u) / p(theta); lengthscales with a common scale have a linear map.
        """
        from scipy import special

        d = theta.shape[-1] - 2
        (a, b), first = self._gammas(d)
        own = theta[..., first:]
        log_density = a * (own + np.log(b)) - b * np.exp(own) - special.gammaln(a)
        slope = np.exp(-0.5 * (u[..., first:] ** 2 + math.log(2.0 * math.pi)) - log_density)
        pulled = gradient[..., first:] * slope
        if not isinstance(self.lengthscale, CommonScale):
            return np.asarray(pulled)
        return np.concatenate([gradient[..., :d] @ self.lengthscale.root(d), pulled], axis=-1)

    def _lengthscales(self, dimension: int) -> Sequence[CommonScale | Gamma]:
        """The marginal priors of d lengthscales."""
        given = self.lengthscale
        if isinstance(given, CommonScale | Gamma):
            return [given] * dimension
        if len(given) != dimension:
            raise SettingsError(
                f"Prior has {len(given)} lengthscale priors for {dimension} coordinates; give one Gamma for "
                "all, or one for each."
            )
        return given

    def _gammas(self, dimension: int) -> tuple[tuple[HostArray, HostArray], int]:
        """Shapes and rates of the Gamma variables, and where in theta the first of them stands."""
        lengthscales = [prior for prior in self._lengthscales(dimension) if isinstance(prior, Gamma)]
        marginals = [*lengthscales, self.amplitude, self.noise]
        parts = np.array([p.shape for p in marginals]), np.array([p.rate for p in marginals])
        return parts, dimension - len(lengthscales)
