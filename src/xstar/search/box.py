"""Global maximization on the unit cube, of many functions at once.

Candidates are screened, each function's most promising basins are picked, and all are climbed together by
`numerics.ascent`: projected Newton where the objective has a Hessian, projected quasi-Newton where it has not.

A basin is a candidate that none of its nearest neighbours among the candidates exceeds. Plain "best k"
would start most climbs on the slope of one hill; the neighbour graph depends on the candidates alone, so
all functions share it.

Notation
    P    functions          N    candidates          q    climbs of one function
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from xstar.errors import DataError
from xstar.gp.observations import check_points
from xstar.numerics.arrays import Array, HostArray, chunks, device, move, namespace, take_rows, to_numpy, top_k
from xstar.numerics.ascent import Evaluation, ascend
from xstar.numerics.checks import integer, positive
from xstar.numerics.culling import best_distinct

SAME_HILL = 0.01
"""Climbs that have come this close to each other, in every coordinate, are taken to be on the same hill."""


class Objective(Protocol):
    """Functions on the cube; `Paths` and prepared acquisitions are such."""

    @property
    def num_problems(self) -> int:
        """P."""

    @property
    def dimension(self) -> int:
        """d."""

    def screen(self, X: HostArray, /) -> Array:
        """Values at shared host points (N, d), roughly; shape (P, N), beside the objective's own arrays."""

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Values (P', q) of the given functions (P',) at their own points (P', q, d)."""

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Value, gradient and, if at hand, Hessian of the given functions (P',) at their own points (P', q, d)."""


class Maxima(NamedTuple):
    """The best point found for each function."""

    x: Array
    """Shape (P, d)."""
    value: Array
    """Shape (P,)."""
    gradient: Array
    """Shape (P, d): zero along free coordinates, up to the tolerance."""
    active: Array
    """Shape (P, d): at a bound, with the gradient pointing out of the cube."""
    converged: Array
    """Shape (P,)."""
    iterations: Array
    """Shape (P,): of the climb that won."""


@dataclass(frozen=True)
class BoxSearch:
    """Multi-start search on [0, 1]^d.

    `num_starts` climbs for each function (default: 8 + 4 d, at most 64), from the best basins among the candidates.
    After a few iterations only the best distinct third of them goes on, each for at most `max_iterations` and
    until its steps are shorter than `tolerance`.
    """

    num_starts: int | None = None
    max_iterations: int = 60
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        if self.num_starts is not None:
            integer(self.num_starts, "num_starts", 1)
        integer(self.max_iterations, "max_iterations", 1)
        positive(self.tolerance, "tolerance", below=1.0)

    def maximize(self, objective: Objective, candidates: Array) -> Maxima:
        """The best local maximum of each function, climbing from the most promising candidates (N, d)."""
        d = objective.dimension
        points = to_numpy(check_points(candidates, "candidates", dimension=d, table=True))
        if len(points) == 0:
            raise DataError("candidates must have at least one row; received none.")
        points = distinct(np.clip(points, 0.0, 1.0))
        values = objective.screen(points)
        candidates = move(points, values)
        xp = namespace(values)
        count = min(8 + 4 * d, 64) if self.num_starts is None else self.num_starts
        picked = pick_basins(values, candidates, count)
        P, q = picked.shape
        starts = xp.reshape(take_rows(candidates, picked.ravel()), (P, q, d))
        lower = xp.zeros((d,), dtype=starts.dtype, device=device(starts))
        found = ascend(
            objective.evaluate, starts, lower, lower + 1.0,
            tolerance=self.tolerance, max_iterations=self.max_iterations,
            cull=best_distinct(math.ceil(q / 3), SAME_HILL),
        )  # fmt: skip
        # A culled climb stands on the same hill as one that went on; it wins only if it is clearly higher.
        finite = xp.isfinite(found.value)
        top = xp.max(xp.where(finite, found.value, -xp.inf), axis=1, keepdims=True)
        bottom = xp.min(xp.where(finite, found.value, xp.inf), axis=1, keepdims=True)
        margin = xp.where(found.converged, 0.0, 1e-9 * (top - bottom) + 1e-13 * xp.abs(top))
        value = xp.where(finite, found.value - margin, -xp.inf)
        best = np.arange(P) * q + to_numpy(xp.argmax(value, axis=1))
        return Maxima(*(take_rows(xp.reshape(part, (P * q, *part.shape[2:])), best) for part in (
            found.x, found.value, found.gradient, found.active, found.converged, found.iterations
        )))  # fmt: skip


def pick_basins(values: Array, candidates: Array, count: int) -> HostArray:
    """Positions (P, q) of the best candidates (N, d) by values (P, N): basins first, then the rest."""
    xp = namespace(values)
    neighbours = _nearest(to_numpy(candidates), 2 * candidates.shape[1] + 1)
    finite = xp.isfinite(values)
    any_finite = xp.any(finite, axis=1, keepdims=True)
    top = xp.where(any_finite, xp.max(xp.where(finite, values, -xp.inf), axis=1, keepdims=True), 0.0)
    bottom = xp.where(any_finite, xp.min(xp.where(finite, values, xp.inf), axis=1, keepdims=True), 0.0)
    # Every other candidate ranks below every basin, and what is not finite below everything.
    span = top - bottom
    values = xp.where(finite, values, bottom - 4.0 * span - xp.abs(bottom) - 1.0)
    parts = []
    for block in chunks(values.shape[0], neighbours.size):
        rows = values[block, :]
        around = xp.take(rows, move(neighbours.ravel(), values), axis=1)
        highest = xp.max(xp.reshape(around, (rows.shape[0], *neighbours.shape)), axis=-1)
        basin = (rows >= highest) & finite[block, :]
        parts.append(xp.where(basin, rows, rows - 1.5 * span[block, :]))
    return to_numpy(top_k(xp.concat(parts, axis=0), min(count, values.shape[1])))


def distinct(points: HostArray) -> HostArray:
    """The points without repetitions, in their order: a point beside its copy would pass for a basin twice."""
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]


def _nearest(points: HostArray, count: int) -> HostArray:
    """The `count` nearest other points of each, as positions (N, count)."""
    from scipy.spatial import cKDTree

    count = min(count, len(points) - 1)
    if count < 1:
        return np.zeros((len(points), 1), dtype=np.int64)
    _, near = cKDTree(points).query(points, k=count + 1)
    return np.asarray(near)[:, 1:]
