"""Priors on the hyperparameters: independent Gamma distributions, used through the logarithm.

A Gamma variable's logarithm t has the density exp(a t - b e^t) up to a constant: log-concave, so neither MAP nor
slice sampling meets a second mode or an infinite peak because of the prior.

The normal score u of a log hyperparameter is the standard normal quantile of its prior probability: u has the prior
N(0, I) exactly, whatever the Gamma distributions are.

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
class Prior:
    """Broad Gamma priors for points in the unit cube and values of standard deviation about 1.

    By default, lengthscales are mostly (90 %) between 0.18 and 2.4, the amplitude between 0.36 and 4.7, the noise
    between 0.005 and 0.3.

    Parameters
    ----------
    lengthscale : Gamma or sequence of Gamma
        For all coordinates, or one for each.
    amplitude, noise : Gamma
        Of standard deviations.

    Examples
    --------
    >>> from xstar.gp import MAP, Gamma, Prior
    >>> MAP(Prior(noise=Gamma(1.0, 100.0))).prior.noise.rate
    100.0
    """

    lengthscale: Gamma | Sequence[Gamma] = Gamma(2.0, 2.0)
    amplitude: Gamma = Gamma(2.0, 1.0)
    noise: Gamma = Gamma(1.0, 10.0)

    def __post_init__(self) -> None:
        several = list(self.lengthscale) if isinstance(self.lengthscale, Sequence) else [self.lengthscale]
        for name, priors in (("lengthscale", several), ("amplitude", [self.amplitude]), ("noise", [self.noise])):
            for prior in priors:
                instance(prior, f"the prior of the {name}", Gamma, "Gamma(2.0, 2.0)")

    def box(self, dimension: int) -> tuple[HostArray, HostArray]:
        """Return lower and upper ends of theta (d + 2,) that hold all but a negligible part of the prior."""
        marginals = self._marginals(dimension)
        lower = np.log([prior.quantile(OUTSIDE_BOX) for prior in marginals])
        upper = np.log([prior.quantile(1.0 - OUTSIDE_BOX) for prior in marginals])
        return lower, upper

    def median(self, dimension: int) -> HostArray:
        """Return theta (d + 2,) in the middle of the prior."""
        return np.log([prior.quantile(0.5) for prior in self._marginals(dimension)])

    def log_density_and_gradient(self, theta: Array) -> tuple[Array, Array]:
        """Return log p(theta) and its gradient, shapes (...) and (..., d + 2)."""
        xp = namespace(theta)
        shape, rate = self._shapes_and_rates(theta.shape[-1] - 2)
        constant = float(np.sum(shape * np.log(rate)) - sum(math.lgamma(a) for a in shape))
        a, pull = move(shape, theta), move(rate, theta) * xp.exp(theta)
        return xp.sum(a * theta - pull, axis=-1) + constant, a - pull

    def to_normal(self, theta: HostArray) -> HostArray:
        """Return the normal scores u of theta (..., d + 2)."""
        from scipy import special

        shape, rate = self._shapes_and_rates(theta.shape[-1] - 2)
        scaled = rate * np.exp(theta)
        below, above = special.gammainc(shape, scaled), special.gammaincc(shape, scaled)
        # The smaller of the two probabilities is the one that is exact.
        return np.asarray(np.where(below < above, special.ndtri(below), -special.ndtri(above)))

    def from_normal(self, u: HostArray) -> HostArray:
        """Return theta (..., d + 2) with the normal scores u."""
        from scipy import special

        shape, rate = self._shapes_and_rates(u.shape[-1] - 2)
        shape, tail = np.broadcast_to(shape, u.shape), special.ndtr(-np.abs(u))
        scaled, left = np.empty(u.shape), u < 0.0
        scaled[left] = special.gammaincinv(shape[left], tail[left])
        scaled[~left] = special.gammainccinv(shape[~left], tail[~left])
        return np.asarray(np.log(scaled / rate))

    def draw_scores(self, count: int, dimension: int, rng: np.random.Generator) -> HostArray:
        """Draw from the prior inside the box; returns normal scores (count, d + 2)."""
        lower, upper = (self.to_normal(end) for end in self.box(dimension))
        return np.clip(rng.standard_normal((count, dimension + 2)), lower, upper)

    def normal_slope(self, u: HostArray, theta: HostArray) -> HostArray:
        """Return d theta / d u = phi(u) / p(theta) for each coordinate (..., d + 2)."""
        from scipy import special

        a, b = self._shapes_and_rates(theta.shape[-1] - 2)
        log_density = a * (theta + np.log(b)) - b * np.exp(theta) - special.gammaln(a)
        return np.asarray(np.exp(-0.5 * (u * u + math.log(2.0 * math.pi)) - log_density))

    def _marginals(self, dimension: int) -> list[Gamma]:
        given = self.lengthscale
        lengthscales = [given] * dimension if isinstance(given, Gamma) else list(given)
        if len(lengthscales) != dimension:
            raise SettingsError(
                f"Prior has {len(lengthscales)} lengthscale priors for {dimension} coordinates; give one Gamma for "
                "all, or one for each."
            )
        return [*lengthscales, self.amplitude, self.noise]

    def _shapes_and_rates(self, dimension: int) -> tuple[HostArray, HostArray]:
        marginals = self._marginals(dimension)
        return np.array([p.shape for p in marginals]), np.array([p.rate for p in marginals])
