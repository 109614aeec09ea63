"""Univariate slice sampling of many chains side by side.

Each sweep updates every coordinate of every chain once, by stepping out and shrinking
[N03] Neal, "Slice sampling", Annals of Statistics 2003, figures 3 and 5. All chains share each call
of the density, which sees only the chains that still need it. All loops are bounded.

Notation
    N    chains
    p    parameters of one chain
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from xstar.errors import NumericalError
from xstar.numerics.arrays import HostArray

LogDensity: TypeAlias = Callable[[HostArray, HostArray], HostArray]
"""log_density(points (k, p), chains (k,)) -> (k,): `chains` says which chain each point belongs to."""

MAX_STEPS_OUT = 16
MAX_SHRINKS = 60


class SliceRun(NamedTuple):
    """The draws of all chains, and what they cost."""

    draws: HostArray
    """Shape (sweeps, N, p)."""
    log_density: HostArray
    """Shape (sweeps, N)."""
    evaluations: int
    """Points at which the density was computed."""
    stuck: int
    """Updates that found no new point in `MAX_SHRINKS` tries and kept the old one."""


def slice_sample(
    log_density: LogDensity,
    start: HostArray,
    rng: np.random.Generator,
    *,
    sweeps: int,
    width: float | HostArray = 1.0,
    lower: float | HostArray = -np.inf,
    upper: float | HostArray = np.inf,
) -> SliceRun:
    """Run chains from `start` (N, p) inside the box [lower, upper]; `width` is the first guess of a slice's size."""
    x = np.array(start, dtype=np.float64)
    chains, p = x.shape
    width, lower, upper = (
        np.broadcast_to(np.asarray(bound, dtype=np.float64), (p,)) for bound in (width, lower, upper)
    )
    counted = CountedDensity(log_density)
    current = counted(x, np.arange(chains))
    check_start(current)
    draws, densities, stuck = np.empty((sweeps, chains, p)), np.empty((sweeps, chains)), 0
    for sweep in range(sweeps):
        for i in range(p):
            level = current - rng.exponential(size=chains)
            left, right = _step_out(counted, x, i, level, width[i], lower[i], upper[i], rng)
            stuck += _shrink(counted, x, current, i, level, left, right, rng)
        draws[sweep], densities[sweep] = x, current
    return SliceRun(draws, densities, counted.evaluations, stuck)


class CountedDensity:
    """A density that counts its evaluations, reads NaN as zero density and has none outside the box [lower, upper]."""

    def __init__(
        self, log_density: LogDensity, lower: float | HostArray = -np.inf, upper: float | HostArray = np.inf
    ) -> None:
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


def check_start(density: HostArray) -> None:
    """Complain about chains whose first point has no density."""
    if not np.all(np.isfinite(density)):
        raise NumericalError(
            f"slice sampling needs a start of finite density; {int(np.sum(~np.isfinite(density)))} of {len(density)} "
            "chains start where it is zero or undefined."
        )


def _step_out(
    log_density: CountedDensity,
    x: HostArray,
    i: int,
    level: HostArray,
    width: float,
    lower: float,
    upper: float,
    rng: np.random.Generator,
) -> tuple[HostArray, HostArray]:
    """An interval around coordinate i of each chain whose ends lie below the slice, or at a limit [N03, figure 3]."""
    chains = len(x)
    left = x[:, i] - width * rng.random(chains)
    right = left + width
    steps_left = rng.integers(0, MAX_STEPS_OUT, size=chains)
    steps_right = MAX_STEPS_OUT - 1 - steps_left
    grow_left, grow_right = np.ones(chains, dtype=bool), np.ones(chains, dtype=bool)
    for _ in range(MAX_STEPS_OUT):
        grow_left &= (steps_left > 0) & (left > lower)
        grow_right &= (steps_right > 0) & (right < upper)
        rows_left, rows_right = np.flatnonzero(grow_left), np.flatnonzero(grow_right)
        if rows_left.size + rows_right.size == 0:
            break
        rows = np.concatenate([rows_left, rows_right])
        points = x[rows]
        points[:, i] = np.concatenate([left[rows_left], right[rows_right]])
        inside = log_density(points, rows) > level[rows]
        grow_left[rows_left] = inside[: rows_left.size]
        grow_right[rows_right] = inside[rows_left.size :]
        left[grow_left] -= width
        right[grow_right] += width
        steps_left -= grow_left
        steps_right -= grow_right
    return np.maximum(left, lower), np.minimum(right, upper)


def _shrink(
    log_density: CountedDensity,
    x: HostArray,
    current: HostArray,
    i: int,
    level: HostArray,
    left: HostArray,
    right: HostArray,
    rng: np.random.Generator,
) -> int:
    """Draw from the slice inside the interval, in place [N03, figure 5]; returns how many chains found nothing."""
    here = x[:, i].copy()
    rows = np.arange(len(x))
    for _ in range(MAX_SHRINKS):
        proposal = left[rows] + rng.random(rows.size) * (right[rows] - left[rows])
        points = x[rows]
        points[:, i] = proposal
        density = log_density(points, rows)
        inside = density > level[rows]
        taken = rows[inside]
        x[taken, i] = proposal[inside]
        current[taken] = density[inside]
        rows, proposal = rows[~inside], proposal[~inside]
        if rows.size == 0:
            return 0
        below = proposal < here[rows]
        left[rows[below]] = proposal[below]
        right[rows[~below]] = proposal[~below]
    return int(rows.size)
