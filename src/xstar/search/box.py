"""Global maximization on the unit cube, of many functions at once.

Candidates are screened, each function's most promising basins are picked, and all are climbed together by
`numerics.ascent`: projected Newton where the objective has a Hessian, projected quasi-Newton where it has not. A few
rough steps tell the hills apart; the best of them are climbed to the end.

A basin is a candidate that none of its nearest neighbours among the candidates exceeds. Plain "best k"
would start most climbs on the slope of one hill; the neighbour graph depends on the candidates alone, so
all functions share it.

Notation
    P    functions          N    candidates          q    climbs of one function
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from xstar.errors import DataError
from xstar.gp.observations import check_points
from xstar.numerics.arrays import (
    Array,
    HostArray,
    chunks,
    move,
    namespace,
    to_numpy,
    top_k,
    zeros,
)
from xstar.numerics.ascent import Evaluation, ascend
from xstar.numerics.checks import integer, positive
from xstar.numerics.culling import best_hills

SAME_HILL = 0.01
"""Climbs that have come this close to each other, in every coordinate, are taken to be on the same hill."""
FINISHED = 2
"""Climbs of each function that are finished."""
OWN_STARTS = 2
"""Climbs from a function's own candidates."""
TREE_PAYS = 10
"""Up to this dimension a tree finds neighbours faster than a comparison of all pairs."""


class Objective(Protocol):
    """Functions on the cube; `Paths` and prepared acquisitions are such."""

    @property
    def num_problems(self) -> int:
        """P."""

    @property
    def dimension(self) -> int:
        """d."""

    def screen(self, X: HostArray, /) -> Array:
        """Values at host points (N, d), roughly; shape (P, N), beside the objective's own arrays.

        Points (R, N, d) are for R groups of P / R functions in a row.
        """

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Values (P', q) of the given functions (P',) at their own points (P', q, d)."""

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Value, gradient and, if at hand, Hessian of the given functions (P',) at their own points (P', q, d)."""

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        """The same, as cheaply as tells good hills from bad ones.

        (An attribute `rounding`, if there is one, says how much of each function's value may be rounding; shape (P,).)
        """


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

    `num_starts` climbs for each function (default: 4 + 2 d, at most 24), from the best basins among the candidates.
    After a few rough iterations only the best distinct ones go on, `FINISHED` of them, each for at most
    `max_iterations` and until its steps are shorter than `tolerance`.
    """

    num_starts: int | None = None
    max_iterations: int = 60
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        if self.num_starts is not None:
            integer(self.num_starts, "num_starts", 1)
        integer(self.max_iterations, "max_iterations", 1)
        positive(self.tolerance, "tolerance", below=1.0)

    def maximize(self, objective: Objective, candidates: Array, own: Array | None = None) -> Maxima:
        """The best local maximum of each function, climbing from the most promising candidates (N, d).

        `own` (R, M, d) are more candidates for each of R groups of functions in a row, of which the best few are
        climbed from.
        """
        d = objective.dimension
        points = to_numpy(check_points(candidates, "candidates", dimension=d, table=True))
        if len(points) == 0:
            raise DataError("candidates must have at least one row; received none.")
        points = distinct(np.clip(points, 0.0, 1.0))
        values = objective.screen(points)
        starts = self._starts(values, move(points, values))
        if own is not None:
            starts = namespace(starts).concat([starts, _best_own(objective, own)], axis=1)
        xp = namespace(starts)
        lower = zeros((d,), starts)
        few, curvature = min(FINISHED, int(starts.shape[1])), None
        if few < starts.shape[1]:
            rough = ascend(
                objective.evaluate_roughly, starts, lower, lower + 1.0, tolerance=1e-3, max_iterations=5 + d // 4
            )
            best = best_hills(rough.x, rough.value, few, SAME_HILL)
            starts, curvature = _rows(rough.x, best), _rows(rough.curvature, best)
        found = ascend(
            objective.evaluate, starts, lower, lower + 1.0,
            radius=0.1, tolerance=self.tolerance, max_iterations=self.max_iterations, curvature=curvature,
            rounding=getattr(objective, "rounding", None),
        )  # fmt: skip
        value = xp.where(xp.isfinite(found.value), found.value, -xp.inf)
        top = xp.argmax(value, axis=1)[:, None]
        return Maxima(*(_rows(part, top)[:, 0, ...] for part in (
            found.x, found.value, found.gradient, found.active, found.converged, found.iterations
        )))  # fmt: skip

    def _starts(self, values: Array, candidates: Array) -> Array:
        """The best basins of each function, shape (P, q, d)."""
        xp = namespace(values)
        d = candidates.shape[-1]
        count = min(4 + 2 * d, 24) if self.num_starts is None else self.num_starts
        picked = pick_basins(values, candidates, count)
        return xp.reshape(xp.take(candidates, xp.reshape(picked, (-1,)), axis=0), (*picked.shape, d))


def _best_own(objective: Objective, own: Array) -> Array:
    """The best of each function's own candidates (R, M, d), shape (P, OWN_STARTS, d)."""
    points = np.clip(to_numpy(check_points(own, "own", dimension=objective.dimension)), 0.0, 1.0)
    if points.ndim != 3 or objective.num_problems % len(points):
        raise DataError(
            f"own must have shape (R, M, d) with R a divisor of {objective.num_problems}; received {points.shape}."
        )
    R, M, d = points.shape
    values = objective.screen(points)
    P = values.shape[0]
    xp = namespace(values)
    best = top_k(xp.where(xp.isfinite(values), values, -xp.inf), min(4 * OWN_STARTS, M))
    picked = best + move(np.repeat(np.arange(R), P // R)[:, None] * M, best)
    rows = xp.take(move(points.reshape(R * M, d), values), xp.reshape(picked, (-1,)), axis=0)
    rows = xp.reshape(rows, (P, picked.shape[1], d))
    heights = xp.reshape(xp.take(xp.reshape(values, (-1,)), _flat(best, M), axis=0), best.shape)
    return _rows(rows, best_hills(rows, heights, min(OWN_STARTS, M), SAME_HILL))


def _rows(x: Array, positions: Array) -> Array:
    """What stands at the positions (P, k) of the second axis of x (P, q, ...); shape (P, k, ...)."""
    xp = namespace(x)
    P, q = x.shape[:2]
    flat = xp.take(xp.reshape(x, (P * q, *x.shape[2:])), _flat(positions, q), axis=0)
    return xp.reshape(flat, (P, positions.shape[1], *x.shape[2:]))


def _flat(positions: Array, width: int) -> Array:
    """Positions (P, k) in rows of some width, as positions in all of them joined."""
    rows = np.arange(positions.shape[0])[:, None] * width
    return namespace(positions).reshape(positions + move(rows, positions), (-1,))


def pick_basins(values: Array, candidates: Array, count: int) -> Array:
    """Positions (P, q) of the best candidates (N, d) by values (P, N): basins first, then the rest."""
    xp = namespace(values)
    N = candidates.shape[0]
    neighbours = _nearest(to_numpy(candidates), 2 * candidates.shape[1] + 1)
    finite = xp.isfinite(values)
    any_finite = xp.any(finite, axis=1, keepdims=True)
    top = xp.where(any_finite, xp.max(xp.where(finite, values, -xp.inf), axis=1, keepdims=True), 0.0)
    bottom = xp.where(any_finite, xp.min(xp.where(finite, values, xp.inf), axis=1, keepdims=True), 0.0)
    # Every other candidate ranks below every basin, and what is not finite below everything.
    span = top - bottom
    values = xp.where(finite, values, bottom - 4.0 * span - xp.abs(bottom) - 1.0)
    parts = []
    for block in chunks(values.shape[0], neighbours.size, values):
        rows = values[block, :]
        around = xp.take(rows, move(neighbours.ravel(), values), axis=1)
        highest = xp.max(xp.reshape(around, (rows.shape[0], *neighbours.shape)), axis=-1)
        basin = (rows >= highest) & finite[block, :]
        parts.append(xp.where(basin, rows, rows - 1.5 * span[block, :]))
    return top_k(xp.concat(parts, axis=0), min(count, N))


def distinct(points: HostArray) -> HostArray:
    """The points without repetitions, in their order: a point beside its copy would pass for a basin twice."""
    _, first = np.unique(points, axis=0, return_index=True)
    return points[np.sort(first)]


def _nearest(points: HostArray, count: int) -> HostArray:
    """The `count` nearest other points of each, as positions (N, count)."""
    N, d = points.shape
    count = min(count, N - 1)
    if count < 1:
        return np.zeros((N, 1), dtype=np.int64)
    if d <= TREE_PAYS:
        from scipy.spatial import cKDTree

        _, near = cKDTree(points).query(points, k=count + 1)
        return np.asarray(near)[:, 1:]
    x = points.astype(np.float32)
    square = np.sum(x * x, axis=1)
    distance = square[:, None] + square - 2.0 * (x @ x.T)
    np.fill_diagonal(distance, np.inf)
    return np.argpartition(distance, count - 1, axis=1)[:, :count]
