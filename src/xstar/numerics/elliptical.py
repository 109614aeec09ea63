"""Elliptical slice sampling of many chains side by side, about a Student t approximation of the target.

An update moves the whole vector of a chain at once: to a point of the slice on an ellipse through the present point
and a draw from the approximation [NMA14] Nishihara, Murray, Adams, "Parallel MCMC with generalized elliptical slice
sampling", JMLR 2014, algorithms 1 and 2. The better the approximation, the fewer tries an update takes and the less it
remembers; the chain's distribution tends to the target whatever the approximation is.

Each call of the density holds one try of every chain that has not finished: a chain that has found its point begins
its next update at once, without waiting for the others. All loops are bounded.

Notation
    N     chains                               p     parameters of one chain
    x     points                               z     whitened points, x = mean + factor z
    nu    degrees of freedom of the approximation
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from xstar.errors import NumericalError
from xstar.numerics.arrays import HostArray

LogDensity: TypeAlias = Callable[[HostArray, HostArray], HostArray]
"""log_density(points (k, p), chains (k,)) -> (k,): `chains` says which chain each point belongs to."""

MAX_SHRINKS = 60
"""Tries of one update, each of which cuts the bracket: after so many it has shrunk to nothing."""


class SliceRun(NamedTuple):
    """The draws of all chains, and what they cost."""

    draws: HostArray
    """Shape (updates, N, p)."""
    log_density: HostArray
    """Shape (updates, N)."""
    evaluations: int
    """Points at which the density was computed."""
    stuck: int
    """Updates that found no new point in `MAX_SHRINKS` tries and kept the old one."""


class StudentT(NamedTuple):
    """A multivariate t distribution for each of several targets."""

    mean: HostArray
    """Shape (N, p)."""
    factor: HostArray
    """Shape (N, p, p): the scale matrix is factor factor^T."""
    freedom: float = 10.0
    """nu; small for heavy tails."""

    def repeat(self, count: int) -> StudentT:
        """Return each of them `count` times in a row."""
        return StudentT(np.repeat(self.mean, count, axis=0), np.repeat(self.factor, count, axis=0), self.freedom)

    def unwhiten(self, z: HostArray, rows: HostArray) -> HostArray:
        """Return the points (k, p) of whitened ones, each by its own distribution (k,)."""
        return np.asarray(self.mean[rows] + np.matmul(self.factor[rows], z[..., None])[..., 0])

    def whiten(self, x: HostArray) -> HostArray:
        """Return the z of points (N, k, p)."""
        centered = np.swapaxes(x - self.mean[:, None, :], -1, -2)
        return np.asarray(np.swapaxes(np.linalg.solve(self.factor, centered), -1, -2))

    def draw(self, count: int, rng: np.random.Generator) -> HostArray:
        """Draw points (N, count, p)."""
        z = rng.standard_normal((len(self.mean), count, self.mean.shape[-1]))
        z *= np.sqrt(self.freedom / rng.chisquare(self.freedom, size=z.shape[:2]))[..., None]
        return np.asarray(self.mean[:, None, :] + np.matmul(z, np.swapaxes(self.factor, -1, -2)))

    def log_density(self, x: HostArray) -> HostArray:
        """Return the log density at points (N, k, p), shape (N, k)."""
        nu, p = self.freedom, self.mean.shape[-1]
        constant = math.lgamma((nu + p) / 2.0) - math.lgamma(nu / 2.0) - p / 2.0 * math.log(nu * math.pi)
        _, log_volume = np.linalg.slogdet(self.factor)
        return np.asarray(constant - log_volume[:, None] + self.log_shape(self.whiten(x)))

    def log_shape(self, z: HostArray) -> HostArray:
        """Return the log density at whitened points (..., p), without its constant."""
        square = np.sum(z * z, axis=-1)
        return np.asarray(-0.5 * (self.freedom + z.shape[-1]) * np.log1p(square / self.freedom))

    def partner(self, z: HostArray, rng: np.random.Generator) -> HostArray:
        """Draw what spans an ellipse with z (k, p): a t is a Gaussian of random scale, given z [NMA14, section 3]."""
        nu, p = self.freedom, z.shape[-1]
        precision = rng.chisquare(nu + p, size=len(z)) / (nu + np.sum(z * z, axis=-1))
        return np.asarray(rng.standard_normal(z.shape) / np.sqrt(precision)[:, None])


def elliptical_slice_sample(
    log_density: LogDensity,
    start: HostArray,
    about: StudentT,
    rng: np.random.Generator,
    *,
    updates: int,
    lower: float | HostArray = -np.inf,
    upper: float | HostArray = np.inf,
) -> SliceRun:
    """Run chains from `start` (N, p) inside the box [lower, upper], each about its own t distribution."""
    x = np.array(start, dtype=np.float64)
    density = _CountedDensity(log_density, lower, upper)
    current = density(x, np.arange(len(x)))
    _check_start(current)
    z = about.whiten(x[:, None, :])[:, 0]
    slices = _Slices(z, current, about, rng)
    draws, densities = np.empty((updates, *x.shape)), np.empty((updates, len(x)))
    done, tries, stuck = np.zeros(len(x), dtype=np.int64), np.zeros(len(x), dtype=np.int64), 0
    rows = np.arange(len(x) if updates else 0)
    slices.begin(rows)
    while rows.size:
        proposal = slices.propose(rows)
        points = about.unwhiten(proposal, rows)
        values = density(points, rows)
        found = values - about.log_shape(proposal) > slices.level[rows]
        tries[rows] += 1
        ended = found | (tries[rows] == MAX_SHRINKS)
        stuck += int(np.sum(ended & ~found))
        slices.shrink(rows[~ended])

        taken, finished = rows[found], rows[ended]
        x[taken], z[taken], current[taken] = points[found], proposal[found], values[found]
        draws[done[finished], finished], densities[done[finished], finished] = x[finished], current[finished]
        done[finished] += 1
        tries[finished] = 0
        slices.begin(finished)
        rows = np.flatnonzero(done < updates)
    return SliceRun(draws, densities, density.evaluations, stuck)


class _CountedDensity:
    """A density that counts its evaluations, reads NaN as zero density and has none outside the box [lower, upper]."""

    def __init__(self, log_density: LogDensity, lower: float | HostArray, upper: float | HostArray) -> None:
        self._log_density = log_density
        self._lower, self._upper = lower, upper
        self.evaluations = 0

    def __call__(self, points: HostArray, chains: HostArray) -> HostArray:
        values = np.full(len(points), -np.inf)
        inside = np.flatnonzero(np.all((points >= self._lower) & (points <= self._upper), axis=1))
        if inside.size:
            self.evaluations += inside.size
            values[inside] = self._log_density(points[inside], chains[inside])
        return np.where(np.isnan(values), -np.inf, values)


def _check_start(density: HostArray) -> None:
    """Complain about chains whose first point has no density."""
    if not np.all(np.isfinite(density)):
        raise NumericalError(
            f"slice sampling needs a start of finite density; {int(np.sum(~np.isfinite(density)))} of {len(density)} "
            "chains start where it is zero or undefined."
        )


class _Slices:
    """The ellipse, the level and the bracket of angles of each chain; z and current are those of the chains."""

    def __init__(self, z: HostArray, current: HostArray, about: StudentT, rng: np.random.Generator) -> None:
        self.z, self.current, self.about, self.rng = z, current, about, rng
        self.partner = np.empty_like(z)
        self.level, self.angle, self.low, self.high = (np.empty(len(z)) for _ in range(4))

    def begin(self, rows: HostArray) -> None:
        """A new ellipse through each point, and a level below the density there."""
        z, rng = self.z[rows], self.rng
        self.partner[rows] = self.about.partner(z, rng)
        self.level[rows] = self.current[rows] - self.about.log_shape(z) - rng.exponential(size=rows.size)
        self.angle[rows] = self.high[rows] = rng.uniform(0.0, 2.0 * math.pi, size=rows.size)
        self.low[rows] = self.high[rows] - 2.0 * math.pi

    def propose(self, rows: HostArray) -> HostArray:
        """Whitened points (k, p) at the present angles."""
        angle = self.angle[rows][:, None]
        return np.asarray(self.z[rows] * np.cos(angle) + self.partner[rows] * np.sin(angle))

    def shrink(self, rows: HostArray) -> None:
        """Cut the bracket at an angle that was refused, and draw another; angle 0 is the present point."""
        angle = self.angle[rows]
        self.low[rows] = np.where(angle < 0.0, angle, self.low[rows])
        self.high[rows] = np.where(angle < 0.0, self.high[rows], angle)
        self.angle[rows] = self.rng.uniform(self.low[rows], self.high[rows])
