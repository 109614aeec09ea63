"""The legal points of a search: which coordinates of the cube are continuous, lattices or choices.

A domain is a row of blocks, each with its own columns of the cube:

    Interval      one column, any value in [0, 1]
    Lattice       one column, `levels` values with half a step of margin, evenly spaced or evenly in the logarithm
    Choice        unordered alternatives: one column (0 or 1) for two of them, one column each for more, where the
                  chosen one is 1 / sqrt(2) and the others 0, so that any two alternatives are at distance 1; or at
                  points of their own, whose distances say how alike they are
    Pinned        any of these, held at one value for the time of a search

Nothing is ever enumerated unless it is small: a lattice may have 10^15 levels, a product of choices any number of
points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from xstar.numerics.arrays import HostArray

FINE = 64
"""A lattice with more levels than this is searched as if it were continuous, and then rounded."""


@dataclass(frozen=True)
class Interval:
    """A continuous coordinate.

    Examples
    --------
    >>> from xstar.search import Domain, Interval
    >>> Domain((Interval(), Interval())).continuous
    True
    """

    @property
    def width(self) -> int:
        """Columns."""
        return 1

    @property
    def levels(self) -> None:
        """Not countable."""
        return

    def snap(self, columns: HostArray) -> HostArray:
        """Return the nearest legal values."""
        return np.clip(columns, 0.0, 1.0)


@dataclass(frozen=True)
class Lattice:
    """A coordinate with ordered values, spaced evenly or by the logarithms of log_low, log_low + 1, ...

    Parameters
    ----------
    levels : int
        How many values.
    log_low : int, optional
        The smallest value, if the lattice is logarithmic.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.search import Lattice
    >>> Lattice(4).encode(np.arange(4)).tolist()
    [0.125, 0.375, 0.625, 0.875]
    """

    levels: int
    log_low: int | None = None

    @property
    def width(self) -> int:
        """Columns."""
        return 1

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Logarithms of the ends of a logarithmic lattice, half a step beyond the first and the last value."""
        low = self.log_low or 1
        return math.log(low - 0.5), math.log(low + self.levels - 0.5)

    def encode(self, index: HostArray | float) -> HostArray:
        """Return coordinates of levels counted from 0; beyond the ends the lattice goes on."""
        if self.log_low is None:
            return np.asarray((np.asarray(index, dtype=np.float64) + 0.5) / self.levels)
        start, end = self._ends
        values = np.maximum(np.asarray(index, dtype=np.float64) + self.log_low, 1e-300)
        return np.asarray((np.log(values) - start) / (end - start))

    def index(self, column: HostArray) -> HostArray:
        """Return the nearest level of each coordinate, as floats."""
        inside = np.clip(column, 0.0, 1.0)
        if self.log_low is None:
            level = np.floor(inside * self.levels)
        else:
            start, end = self._ends
            level = np.rint(np.exp(start + inside * (end - start)) - self.log_low)
        return np.asarray(np.clip(level, 0, self.levels - 1))

    def snap(self, columns: HostArray) -> HostArray:
        """Return the nearest legal values."""
        return self.encode(self.index(columns))


@dataclass(frozen=True)
class Choice:
    """One of several unordered alternatives.

    Parameters
    ----------
    levels : int
        How many.
    points : tuple of tuple of float, optional
        Where in the cube they are, all of them different, so that some may be more alike than others.

    Examples
    --------
    >>> from xstar.search import Choice
    >>> Choice(2).width, Choice(3).width, Choice(3, ((0.0,), (0.2,), (1.0,))).width
    (1, 3, 1)
    """

    levels: int
    points: tuple[tuple[float, ...], ...] | None = None

    @property
    def width(self) -> int:
        """Columns."""
        return self.levels if self._equally_far else int(self._places.shape[1])

    @property
    def _equally_far(self) -> bool:
        """Whether each alternative has a column of its own."""
        return self.points is None and self.levels > 2

    @cached_property
    def _places(self) -> HostArray:
        """Of the alternatives, (levels, width)."""
        if self.points is not None:
            return np.array(self.points)
        return np.eye(self.levels) * math.sqrt(0.5) if self._equally_far else np.arange(self.levels)[:, None] * 1.0

    @property
    def ends(self) -> tuple[HostArray, HostArray]:
        """The smallest and the largest value of each column."""
        if self._equally_far:
            return np.zeros(self.levels), np.full(self.levels, math.sqrt(0.5))
        return np.min(self._places, axis=0), np.max(self._places, axis=0)

    def encode(self, index: HostArray) -> HostArray:
        """Return the columns (..., width) of alternatives counted from 0."""
        chosen = np.asarray(index, dtype=np.int64)
        if not self._equally_far:
            return np.asarray(self._places[chosen])
        # Without a table of all: of thousands it would be a large one.
        return np.where(chosen[..., None] == np.arange(self.levels), math.sqrt(0.5), 0.0)

    def index(self, columns: HostArray) -> HostArray:
        """Return the alternative of each row of columns (..., width), the nearest one."""
        if self._equally_far:
            return np.asarray(np.argmax(columns, axis=-1))
        return np.asarray(np.argmin(np.sum((columns[..., None, :] - self._places) ** 2, axis=-1), axis=-1))

    def snap(self, columns: HostArray) -> HostArray:
        """Return the nearest legal values."""
        return self.encode(self.index(columns))


@dataclass(frozen=True)
class Pinned:
    """Columns that are held at some values, which may lie outside the cube."""

    values: tuple[float, ...]

    @property
    def width(self) -> int:
        """Columns."""
        return len(self.values)

    @property
    def levels(self) -> int:
        """The one there is."""
        return 1

    def encode(self, index: HostArray) -> HostArray:
        """Return the columns (..., width) of the only level."""
        return np.broadcast_to(np.array(self.values), (*np.shape(index), self.width)).copy()

    def index(self, columns: HostArray) -> HostArray:
        """Return the only level, for each row of columns (..., width)."""
        return np.zeros(columns.shape[:-1], dtype=np.int64)

    def snap(self, columns: HostArray) -> HostArray:
        """Return the nearest legal values."""
        return self.encode(self.index(columns))


Block: TypeAlias = Interval | Lattice | Choice | Pinned


@dataclass(frozen=True)
class Domain:
    """The legal points of the cube: blocks in the order of their columns.

    Parameters
    ----------
    blocks : tuple of Interval, Lattice or Choice

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.search import Choice, Domain, Interval, Lattice
    >>> domain = Domain((Interval(), Lattice(2), Choice(3)))
    >>> domain.dimension
    5
    >>> domain.snap(np.array([0.4, 0.4, 0.1, 0.9, 0.2])).round(2).tolist()
    [0.4, 0.25, 0.0, 0.71, 0.0]
    """

    blocks: tuple[Block, ...]

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """The columns of each block."""
        ends = list(itertools.accumulate((block.width for block in self.blocks), initial=0))
        return tuple(slice(start, end) for start, end in itertools.pairwise(ends))

    @property
    def dimension(self) -> int:
        """d, the columns of all blocks together."""
        return sum(block.width for block in self.blocks)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The block that each column belongs to: the columns of a choice share one lengthscale."""
        return tuple(k for k, block in enumerate(self.blocks) for _ in range(block.width))

    @cached_property
    def discrete(self) -> HostArray:
        """Which columns are held while others are searched continuously; shape (d,)."""
        return np.array([_is_coarse(block) for block in self.blocks for _ in range(block.width)], dtype=bool)

    @cached_property
    def ends(self) -> tuple[HostArray, HostArray]:
        """The smallest and the largest legal value of each column."""
        low, high = self.snap(np.zeros(self.dimension)), self.snap(np.ones(self.dimension))
        for block, columns in zip(self.blocks, self.columns, strict=True):
            if isinstance(block, Choice):
                low[columns], high[columns] = block.ends
        return low, high

    @cached_property
    def uncountable(self) -> HostArray:
        """Which columns are continuous, strictly; shape (d,)."""
        return np.array([isinstance(self.blocks[k], Interval) for k in self.groups], dtype=bool)

    @property
    def continuous(self) -> bool:
        """Whether every point of the cube is legal."""
        return all(isinstance(block, Interval) for block in self.blocks)

    @property
    def size(self) -> int | None:
        """The number of legal points; None if there is a continuous coordinate."""
        counts = [block.levels for block in self.blocks]
        return None if None in counts else math.prod(count for count in counts if count is not None)

    def snap(self, X: HostArray) -> HostArray:
        """Return the legal points nearest to rows (..., d)."""
        parts = [block.snap(X[..., columns]) for block, columns in zip(self.blocks, self.columns, strict=True)]
        return np.concatenate(parts, axis=-1) if parts else X

    def spread(self, U: HostArray) -> HostArray:
        """Return legal points from numbers (..., blocks) in [0, 1), one for each block; uniform if the numbers are."""
        parts = []
        for k, block in enumerate(self.blocks):
            u = U[..., k : k + 1]
            if isinstance(block, Choice):
                parts.append(block.encode(np.minimum(u[..., 0] * block.levels, block.levels - 1).astype(np.int64)))
            elif isinstance(block, Pinned):
                parts.append(block.encode(u[..., 0]))
            else:
                parts.append(block.snap(u))
        return np.concatenate(parts, axis=-1)

    def numbers(self, X: HostArray) -> HostArray:
        """Return legal points (N, d) by one number for each block: its level or its continuous coordinate."""
        parts = []
        for block, columns in zip(self.blocks, self.columns, strict=True):
            here = X[:, columns]
            if isinstance(block, Interval):
                parts.append(here[:, 0] + 0.0)
            elif isinstance(block, Lattice):
                parts.append(block.index(here[:, 0]))
            else:
                parts.append(block.index(here).astype(np.float64))
        return np.stack(parts, axis=1)

    def keys(self, X: HostArray) -> list[bytes]:
        """Return legal points (N, d) as something that can be looked up: levels, not coordinates, which are rounded.

        Continuous coordinates are not rounded; `Points` finds them again.
        """
        return [row.tobytes() for row in self.numbers(X)]

    def at(self, number: int) -> HostArray:
        """Return the legal point with a number from 0 to `size` - 1, for domains without a continuous coordinate."""
        parts = []
        for block in reversed(self.blocks):
            assert not isinstance(block, Interval), "a continuous coordinate has no numbers"
            number, index = divmod(number, block.levels)
            parts.append(np.atleast_1d(block.encode(np.asarray(index))))
        return np.concatenate(parts[::-1])

    def everything(self) -> HostArray:
        """Return all legal points (size, d) of a small domain."""
        rows = np.indices([block.levels or 1 for block in self.blocks]).reshape(len(self.blocks), -1)
        parts = []
        for block, index in zip(self.blocks, rows, strict=True):
            assert not isinstance(block, Interval), "a continuous coordinate cannot be enumerated"
            parts.append(block.encode(index).reshape(len(index), block.width))
        return np.concatenate(parts, axis=1)

    def neighbours(self, X: HostArray, rng: np.random.Generator, max_alternatives: int = 12) -> HostArray:
        """Return legal points one discrete move away from rows (N, d); shape (N, moves, d).

        A lattice moves one level up or down, or to a level drawn at random; a choice to every other alternative, or to
        `max_alternatives` drawn at random when there are more. Moves that lead out of the domain stay where they are.
        """
        moves = [self._moved(X, columns, new) for columns, new in self._moves(X, rng, max_alternatives)]
        return np.stack(moves, axis=1) if moves else X[:, None, :][:, :0]

    def _moves(self, X: HostArray, rng: np.random.Generator, most: int) -> Iterator[tuple[slice, HostArray]]:
        for block, columns in zip(self.blocks, self.columns, strict=True):
            here = X[:, columns]
            if isinstance(block, Lattice):
                level = block.index(here)
                for step in (-1.0, 1.0):
                    yield columns, block.encode(np.clip(level + step, 0, block.levels - 1))
                if block.levels > 3:
                    yield columns, block.snap(rng.random(here.shape))
            elif isinstance(block, Choice):
                chosen = block.index(here)
                few = min(block.levels - 1, most)
                steps = rng.permutation(block.levels - 1)[:few] + 1
                for step in steps:
                    yield columns, block.encode((chosen + step) % block.levels)

    @staticmethod
    def _moved(X: HostArray, columns: slice, new: HostArray) -> HostArray:
        moved = X.copy()
        moved[:, columns] = new
        return moved


def _is_coarse(block: Block) -> bool:
    return isinstance(block, Choice | Pinned) or (isinstance(block, Lattice) and block.levels <= FINE)


def cube(dimension: int) -> Domain:
    """Return the unit cube, every point of it legal.

    Parameters
    ----------
    dimension : int
        d.

    Returns
    -------
    Domain

    Examples
    --------
    >>> from xstar.search import cube
    >>> cube(3).dimension
    3
    """
    return Domain((Interval(),) * dimension)
