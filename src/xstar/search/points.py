"""Sets of legal points, in which a point is met again although it was rounded on its way to the user and back.

Levels of lattices and choices are compared exactly, continuous coordinates in units of their range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xstar.numerics.arrays import HostArray
from xstar.search.domain import Domain

SAME_POINT = 1e-7
"""Points of the cube that differ by less in every coordinate are the same: no evaluation tells them apart."""


@dataclass(frozen=True, eq=False)
class Points:
    """Some legal points of a domain.

    Parameters
    ----------
    domain : Domain
        The legal points.
    rows : array of shape (k, d)
        Those of the set, up to rounding; others are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.search import Points, cube
    >>> Points(cube(1), np.array([[0.3], [7.0]])).has(np.array([[0.1 + 0.2], [0.4], [7.0]])).tolist()
    [True, False, False]
    """

    domain: Domain
    rows: HostArray

    def __len__(self) -> int:
        return len(self._keys) if self._intervals.size == 0 else len(self._numbers)

    def __or__(self, other: Points) -> Points:
        return Points(self.domain, np.concatenate([self.rows, other.rows]))

    def has(self, X: HostArray) -> HostArray:
        """Return which legal points (N, d) are in the set, shape (N,)."""
        if not len(self):
            return np.zeros(len(X), dtype=bool)
        legal = self._are_legal(X)
        if self._intervals.size == 0:
            return np.array([key in self._keys for key in self.domain.keys(X)], dtype=bool) & legal
        # In one continuous coordinate few are close, and only these are compared in all of them.
        numbers, column = self.domain.numbers(X), self._intervals[0]
        low = np.searchsorted(self._numbers[:, column], numbers[:, column] - SAME_POINT, side="left")
        high = np.searchsorted(self._numbers[:, column], numbers[:, column] + SAME_POINT, side="right")
        found = np.zeros(len(X), dtype=bool)
        for k in np.flatnonzero(legal & (high > low)):
            gap = np.abs(self._numbers[low[k] : high[k]] - numbers[k])
            found[k] = bool(np.any(np.all(gap < SAME_POINT, axis=1)))
        return found

    def _are_legal(self, X: HostArray) -> HostArray:
        return np.asarray(np.all(np.abs(self.domain.snap(X) - X) < SAME_POINT, axis=1))

    @cached_property
    def _intervals(self) -> HostArray:
        """The blocks that are continuous coordinates."""
        return np.flatnonzero([block.levels is None for block in self.domain.blocks])

    @cached_property
    def _keys(self) -> frozenset[bytes]:
        return frozenset(self.domain.keys(self.rows[self._are_legal(self.rows)]))

    @cached_property
    def _numbers(self) -> HostArray:
        """The points by their levels and continuous coordinates, in the order of the first of these."""
        numbers = self.domain.numbers(self.rows[self._are_legal(self.rows)])
        return np.asarray(numbers[np.argsort(numbers[:, self._intervals[0]], kind="stable")])
