"""Where random numbers come from: one generator, or one for each of many problems.

Code with a leading axis of problems takes a `Random` and draws with the methods that both kinds have. That the draws of
a problem are its own is then a matter of the generators alone (`xstar.lockstep.streams`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np

from xstar.numerics.arrays import HostArray


class Generators(ABC):
    """R generators that stand in for one: the leading axis of a draw is divided among them in order."""

    common: np.random.Generator
    """The generator of what all problems share."""

    @abstractmethod
    def __len__(self) -> int:
        """R."""

    @abstractmethod
    def standard_normal(self, shape: tuple[int, ...]) -> HostArray:
        """Draw from the standard normal distribution."""

    @abstractmethod
    def chisquare(self, df: float, size: tuple[int, ...]) -> HostArray:
        """Draw from a chi-square distribution."""

    @abstractmethod
    def uniform(self, low: float, high: float, size: tuple[int, ...]) -> HostArray:
        """Draw from a uniform distribution."""

    @abstractmethod
    def permutation(self, count: int) -> HostArray:
        """Draw a permutation for each problem, shape (R, count)."""


Random: TypeAlias = np.random.Generator | Generators


def common(rng: Random) -> np.random.Generator:
    """Return the generator of what all problems share."""
    return rng.common if isinstance(rng, Generators) else rng


def permutations(rng: Random, count: int) -> HostArray:
    """Draw a permutation for each problem, shape (R, count)."""
    return rng.permutation(count) if isinstance(rng, Generators) else rng.permutation(count)[None]
