"""Global maximization on the unit cube, of many functions at once.

A multi-start search: candidates are screened, each function's most promising basins are picked, and local searches from
all of them run together in `numerics.ascent`, projected Newton where the objective has a Hessian, projected
quasi-Newton where it has not. A few rough iterations tell the hills apart; on the best of them the search is finished.

A basin is a candidate that none of its nearest neighbours among the candidates exceeds. Plain "best k" would start most
searches on the slope of one hill; the neighbour graph depends on the candidates alone, so all functions share it.

Notation
    P    functions          N    candidates          q    starts of one function
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
from xstar.numerics.checks import instance, integer, positive
from xstar.numerics.culling import best_hills
from xstar.search.settings import SearchSettings

TREE_PAYS = 10
"""Up to this dimension a tree finds neighbours faster than a comparison of all pairs."""


class Objective(Protocol):
    """Functions on the cube: what a search maximizes. `Paths` and prepared acquisitions are such.

    An attribute `rounding`, if there is one, says how much of each function's value may be rounding; shape (P,).
    """

    @property
    def num_problems(self) -> int:
        """P."""

    @property
    def dimension(self) -> int:
        """d."""

    def screen(self, X: HostArray, /) -> Array:
        """Return rough values at host points (N, d); shape (P, N), beside the objective's own arrays.

        Points (R, N, d) are for R groups of P / R functions in a row.
        """

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Return values (P', q) of the given functions (P',) at their own points (P', q, d)."""

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Return value, gradient and, if at hand, Hessian of some functions (P',) at their own points (P', q, d)."""

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Evaluate likewise, as cheaply as tells good hills from bad ones."""


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
    """Shape (P,): of the local search that found it."""


@dataclass(frozen=True)
class BoxSearch:
    """Multi-start search on [0, 1]^d.

    Parameters
    ----------
    num_starts : int, optional
        Local searches for each function, from the best basins among the candidates; by default 4 + 2 d, at most 24.
    max_iterations : int
        Of those that go on after a few rough iterations.
    tolerance : float
        They end when steps are shorter than this.
    settings : SearchSettings
        Everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential, draw_paths
    >>> from xstar.search import BoxSearch, draw_candidates
    >>> rng = np.random.default_rng(0)
    >>> X = [[0.1, 0.2], [0.6, 0.7]]
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3, 0.3], 1.0, 0.1), X, [0.0, 1.0])
    >>> found = BoxSearch().maximize(draw_paths(post, 5, rng), draw_candidates(256, X, rng))
    >>> found.x.shape, bool(found.converged.all())
    ((5, 2), True)
    """

    num_starts: int | None = None
    max_iterations: int = 60
    tolerance: float = 1e-7
    settings: SearchSettings = field(default_factory=SearchSettings)

    def __post_init__(self) -> None:
        instance(self.settings, "settings", SearchSettings, "SearchSettings()")
        if self.num_starts is not None:
            integer(self.num_starts, "num_starts", 1)
        integer(self.max_iterations, "max_iterations", 1)
        positive(self.tolerance, "tolerance", below=1.0)

    def maximize(self, objective: Objective, candidates: Array, own: Array | None = None) -> Maxima:
        """Find the best local maximum of each function.

        Parameters
        ----------
        objective : Objective
            P functions.
        candidates : array of shape (N, d)
            Points from the most promising of which local searches start.
        own : array of shape (R, M, d), optional
            More candidates for each of R groups of functions in a row, of which the best few are starts.

        Returns
        -------
        Maxima
            The best point found for each function.

        Raises
        ------
        DataError
            If there are no candidates, or they do not fit the functions.
        """
        d, tuned = objective.dimension, self.settings
        points = to_numpy(check_points(candidates, "candidates", dimension=d, table=True))
        if len(points) == 0:
            raise DataError("candidates must have at least one row; received none.")
        points = distinct(np.clip(points, 0.0, 1.0))
        values = objective.screen(points)
        starts = self._starts(values, move(points, values))
        if own is not None:
            starts = namespace(starts).concat([starts, _best_own(objective, own, tuned)], axis=1)
        xp = namespace(starts)
        lower = zeros((d,), starts)
        few, curvature = min(tuned.num_finished, int(starts.shape[1])), None
        if few < starts.shape[1]:
            rough = ascend(
                objective.evaluate_roughly, starts, lower, lower + 1.0,
                tolerance=tuned.rough_tolerance, max_iterations=tuned.rough_iterations + d // 4,
            )  # fmt: skip
            best = best_hills(rough.x, rough.value, few, tuned.min_separation)
            starts, curvature = _rows(rough.x, best), _rows(rough.curvature, best)
        found = ascend(
            objective.evaluate, starts, lower, lower + 1.0,
            radius=tuned.finish_radius, tolerance=self.tolerance, max_iterations=self.max_iterations,
            curvature=curvature, rounding=getattr(objective, "rounding", None),
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


def _best_own(objective: Objective, own: Array, settings: SearchSettings) -> Array:
    """The best few of each function's own candidates (R, M, d), shape (P, k, d)."""
    points = np.clip(to_numpy(check_points(own, "own", dimension=objective.dimension)), 0.0, 1.0)
    if points.ndim != 3 or objective.num_problems % len(points):
        raise DataError(
            f"own must have shape (R, M, d) with R a divisor of {objective.num_problems}; received {points.shape}."
        )
    R, M, d = points.shape
    values = objective.screen(points)
    P = values.shape[0]
    xp = namespace(values)
    best = top_k(xp.where(xp.isfinite(values), values, -xp.inf), min(4 * settings.num_own_starts, M))
    picked = best + move(np.repeat(np.arange(R), P // R)[:, None] * M, best)
    rows = xp.take(move(points.reshape(R * M, d), values), xp.reshape(picked, (-1,)), axis=0)
    rows = xp.reshape(rows, (P, picked.shape[1], d))
    heights = xp.reshape(xp.take(xp.reshape(values, (-1,)), _flat(best, M), axis=0), best.shape)
    count = min(settings.num_own_starts, M)
    return _rows(rows, best_hills(rows, heights, count, settings.min_separation))


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
    """Return positions (P, q) of the best candidates (N, d) by values (P, N): basins first, then the rest."""
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
    """Return the points without repetitions, in their order: a point beside its copy would pass for a basin twice."""
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
