"""Random numbers for many problems at once: one generator each, so that a problem's draws are its own.

A `Streams` stands in for a `numpy.random.Generator` wherever the leading axis of a draw counts problems, or problems
times something: the axis is divided among the generators in order. Problem r then sees what it would see alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from xstar.numerics.arrays import HostArray
from xstar.numerics.random import Generators

if TYPE_CHECKING:
    from concurrent.futures import Executor


class Streams(Generators):
    """R generators, and one for what all problems share.

    `threads` draw at the same time: NumPy's generators let go of the interpreter, and which thread serves which
    generator changes no number.
    """

    def __init__(self, own: Sequence[np.random.Generator], common: np.random.Generator, threads: int = 1) -> None:
        self.own, self.common = list(own), common
        self.threads = min(threads, len(self.own))
        self._pool: Executor | None = None

    def __len__(self) -> int:
        return len(self.own)

    def take(self, problems: HostArray) -> Streams:
        """Those of some problems."""
        if len(problems) == len(self.own):
            return self
        return Streams([self.own[r] for r in problems], self.common, self.threads)

    def sharing(self, common: np.random.Generator) -> Streams:
        """The same ones with another generator of what all problems share."""
        return Streams(self.own, common, self.threads)

    def standard_normal(self, shape: tuple[int, ...]) -> HostArray:
        """Normal draws."""
        return self._fill(shape, lambda rng, out: rng.standard_normal(out=out))

    def chisquare(self, df: float, size: tuple[int, ...]) -> HostArray:
        """Chi-square draws."""

        def draw(rng: np.random.Generator, out: HostArray) -> None:
            out[...] = rng.chisquare(df, size=out.shape)

        return self._fill(size, draw)

    def uniform(self, low: float, high: float, size: tuple[int, ...]) -> HostArray:
        """Uniform draws."""

        def draw(rng: np.random.Generator, out: HostArray) -> None:
            rng.random(out=out)
            out *= high - low
            out += low

        return self._fill(size, draw)

    def permutation(self, count: int) -> HostArray:
        """A permutation for each problem, shape (R, count)."""
        return np.stack([rng.permutation(count) for rng in self.own])

    def _fill(self, shape: tuple[int, ...], draw: Callable[[np.random.Generator, HostArray], object]) -> HostArray:
        if shape[0] % len(self.own):
            raise ValueError(f"{shape[0]} rows cannot be divided among {len(self.own)} generators")
        out = np.empty(shape)
        rows = shape[0] // len(self.own)

        def some(start: int, stop: int) -> None:
            for r in range(start, stop):
                draw(self.own[r], out[r * rows : (r + 1) * rows])

        if self.threads == 1:
            some(0, len(self.own))
            return out
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self.threads)
        ends = np.linspace(0, len(self.own), self.threads + 1).astype(int).tolist()
        list(self._pool.map(some, ends[:-1], ends[1:]))
        return out
