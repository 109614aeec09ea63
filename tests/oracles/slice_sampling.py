"""Slice sampling of one chain, one coordinate after the other: slow, and plainly the algorithm of the book.

[N03] Neal, "Slice sampling", Annals of Statistics 2003: stepping out (figure 3) and shrinkage (figure 5).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def slice_sample(
    log_density: Callable[[Vector], float],
    start: Vector,
    rng: np.random.Generator,
    *,
    sweeps: int,
    width: float = 1.0,
    lower: Vector | None = None,
    upper: Vector | None = None,
) -> Vector:
    """Run a chain from `start` (p,) inside the box [lower, upper]; one row for each sweep over the coordinates."""
    low = np.full(len(start), -np.inf) if lower is None else lower
    high = np.full(len(start), np.inf) if upper is None else upper
    x = np.array(start, dtype=np.float64)
    draws = np.empty((sweeps, len(x)))
    height = log_density(x)
    for sweep in range(sweeps):
        for i in range(len(x)):

            def along(value: float, i: int = i) -> float:
                if not low[i] <= value <= high[i]:
                    return -np.inf
                point = x.copy()
                point[i] = value
                return log_density(point)

            level = height - rng.exponential()
            left = x[i] - width * rng.random()
            right = left + width
            while along(left) > level:
                left -= width
            while along(right) > level:
                right += width
            while True:
                value = rng.uniform(left, right)
                height = along(value)
                if height > level:
                    break
                left, right = (value, right) if value < x[i] else (left, value)
            x[i] = value
        draws[sweep] = x
    return draws
