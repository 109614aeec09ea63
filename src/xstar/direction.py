"""Whether larger or smaller values are better: the one place that knows the sign of an objective.

Inside, everything is maximized. Values change their sign on the way in (`engine.evidence`) and on the way out
(`engine.model`); pictures and tables ask a direction for the best of some values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from xstar.errors import SettingsError
from xstar.numerics.arrays import HostArray

T = TypeVar("T")


class Direction(StrEnum):
    """What is wanted of the values; equal to the string "maximize" or "minimize"."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"

    @classmethod
    def parse(cls, value: Any) -> Direction:
        """Return the direction with a name, or complain."""
        try:
            return cls(value)
        except ValueError as error:
            raise SettingsError(f'direction must be "maximize" or "minimize"; received {value!r}.') from error

    @property
    def sign(self) -> float:
        """What values are multiplied by so that larger is better."""
        return 1.0 if self is Direction.MAXIMIZE else -1.0

    def beats(self, value: float, other: float) -> bool:
        """Return whether a value is better than another one."""
        return self.sign * value > self.sign * other

    def best(self, items: Iterable[T], value: Callable[[T], float]) -> T | None:
        """Return the first of the items whose value is best; None if there are none."""
        return max(items, key=lambda item: self.sign * value(item), default=None)

    def running_best(self, values: HostArray) -> HostArray:
        """Return the best of the values up to each, shape (n,)."""
        return np.asarray(self.sign * np.maximum.accumulate(self.sign * values))

    def no_better_than(self, value: float, bound: float) -> float:
        """Return the value, or the bound if that is worse."""
        return self.sign * min(self.sign * value, self.sign * bound)
