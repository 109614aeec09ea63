"""From values in the user's units to a standardized y, and back.

    y = (compressed(value) - center) / scale

In the bulk of the values, and above it, this is a shift and a scale. Values far below the bulk (a diverged run, a
penalty of -1e9) are compressed by a logarithm: they are bad, and how bad is of no interest to a search for the maximum.
So are values absurdly far above it, much later; the order of values never changes. Everything is relative to the spread
of the values, so that shifting and scaling them changes nothing.

Notation
    value    larger is better                (...)
    fences   where compression begins, in values
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from xstar.numerics.arrays import HostArray

BELOW, ABOVE = 3.0, 20.0
"""Interquartile ranges from the median to the fences."""
ENOUGH = 5
"""With fewer values than this, nothing can be said to be far from the bulk."""
FARTHEST = 600.0
"""The largest exponent on the way back."""


@dataclass(frozen=True)
class Scaling:
    """An increasing map from values to y."""

    center: float = 0.0
    """In units of compressed values."""
    scale: float = 1.0
    low: float = -math.inf
    high: float = math.inf
    """The fences."""
    width: float = 1.0
    """How quickly the logarithm sets in beyond a fence."""

    @classmethod
    def fit(cls, values: HostArray, weights: HostArray) -> Scaling:
        """For values (n,), n >= 1, of which all may be the same; weights (n,) sum to 1 and are those of the center."""
        fences = cls()
        if len(values) >= ENOUGH:
            quarter, median, three_quarters = np.quantile(values, [0.25, 0.5, 0.75])
            width = float(three_quarters - quarter)
            if 0.0 < width < math.inf:
                fences = cls(0.0, 1.0, float(median - BELOW * width), float(median + ABOVE * width), width)
        compressed = fences._compress(values)
        # In units of the largest, so that squares neither overflow nor vanish.
        unit = float(np.max(np.abs(compressed))) or 1.0
        center = float(np.sum(weights * (compressed / unit)))
        scale = float(np.sqrt(np.mean(np.square(compressed / unit - center))))
        # Below this, the values differ by rounding only.
        known = scale > 8.0 * np.finfo(np.float64).eps and unit * scale > 0.0
        return cls(center * unit, scale * unit if known else 1.0, fences.low, fences.high, fences.width)

    def forward(self, values: HostArray) -> HostArray:
        """y of values."""
        return (self._compress(values) - self.center) / self.scale

    def inverse(self, y: HostArray) -> HostArray:
        """Values of y."""
        v = np.asarray(y, dtype=np.float64) * self.scale + self.center
        below = np.clip((self.low - v) / self.width, 0.0, FARTHEST)
        above = np.clip((v - self.high) / self.width, 0.0, FARTHEST)
        v = np.where(below > 0.0, self.low - self.width * np.expm1(below), v)
        return np.asarray(np.where(above > 0.0, self.high + self.width * np.expm1(above), v))

    def slope(self, values: HostArray) -> HostArray:
        """dy / dvalue, by which standard deviations are multiplied."""
        below = np.maximum((self.low - values) / self.width, 0.0)
        above = np.maximum((values - self.high) / self.width, 0.0)
        return np.asarray(1.0 / (self.scale * (1.0 + below + above)))

    def spread(self, mean: HostArray, sd: HostArray) -> HostArray:
        """The standard deviation of a value, of y with this mean and sd."""
        return 0.5 * (self.inverse(mean + sd) - self.inverse(mean - sd))

    def _compress(self, values: HostArray) -> HostArray:
        v = np.asarray(values, dtype=np.float64)
        below = np.maximum((self.low - v) / self.width, 0.0)
        above = np.maximum((v - self.high) / self.width, 0.0)
        v = np.where(below > 0.0, self.low - self.width * np.log1p(below), v)
        return np.asarray(np.where(above > 0.0, self.high + self.width * np.log1p(above), v))
