"""What an optimization problem of the studies is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
"""Points of the unit cube (m, d), or values (m,)."""


@dataclass(frozen=True)
class Problem:
    """A function on the unit cube, to be maximized, and what is known about it."""

    name: str
    values: Callable[[Rows], Rows]
    """From points (m, d) to the function's values (m,), without noise."""
    maximizer: Rows
    """Where it is largest (one such place), shape (d,)."""
    maximum: float
    noise: float
    """Standard deviation of the normal noise that an evaluation adds."""
    evaluations: int
    """How many a study makes, the first ones included."""

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.maximizer)

    def regret(self, X: Rows) -> Rows:
        """What the function loses at points (m, d) against its maximum, shape (m,)."""
        return np.maximum(0.0, self.maximum - self.values(X))
