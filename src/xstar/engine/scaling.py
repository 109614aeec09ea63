"""From values in the user's units to a standardized y, and back.

    y = (compressed(value / unit) - center) / scale

In the bulk of the values, and above it, this is a shift and a scale. Values far below the bulk (a diverged run, a
penalty of -1e9) are compressed by a logarithm: they are bad, and how bad is of no interest to a search for the maximum.
So are values absurdly far above it, much later; the order of values never changes. Everything is relative to the spread
of the values, so that shifting and scaling them changes nothing.

Notation
    v         value / unit, where unit is a power of two near the largest |value|, so that nothing overflows    (...)
    fences    where compression begins, in v
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
LONG = 8.0
"""Compressed values farther out than this are compressed once more."""
FARTHEST = 600.0
"""The largest exponent on the way back."""
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""Values whose spread is a smaller share of the largest differ by rounding only."""


@dataclass(frozen=True)
class Scaling:
    """An increasing map from values, larger is better, to y."""

    center: float = 0.0
    scale: float = 1.0
    low: float = -math.inf
    high: float = math.inf
    """The fences."""
    width: float = 1.0
    """How quickly the logarithm sets in beyond a fence."""
    unit: float = 1.0
    informative: bool = True
    """Whether the values differed by more than rounding; if not, the scale of y is arbitrary."""

    @classmethod
    def fit(cls, values: HostArray, weights: HostArray) -> Scaling:
        """For values (n,), n >= 1, of which all may be the same; weights (n,) sum to 1 and are those of the center."""
        exponent = math.frexp(float(np.max(np.abs(values))))[1]
        unit = 2.0 ** min(max(exponent, -1000), 1023)
        v = np.asarray(values, dtype=np.float64) / unit
        low, high, width = -math.inf, math.inf, 1.0
        if len(v) >= ENOUGH:
            quarter, median, three_quarters = np.quantile(v, [0.25, 0.5, 0.75])
            if three_quarters - quarter > ROUNDING * max(abs(quarter), abs(three_quarters)):
                width = float(three_quarters - quarter)
                low, high = float(median - BELOW * width), float(median + ABOVE * width)
        compressed = cls(low=low, high=high, width=width)._compress(v)
        center = float(np.sum(weights * compressed))
        # In units of the largest, because the bulk may be far smaller than what was compressed.
        largest = float(np.max(np.abs(compressed))) or 1.0
        scale = largest * float(np.sqrt(np.mean(np.square((compressed - center) / largest))))
        if scale <= ROUNDING * largest:
            # Nothing is known of the scale; the user's own unit is as good as any.
            return cls(center=float(v[0]), scale=1.0 / unit, unit=unit, informative=False)
        return cls(center, scale, low, high, width, unit)

    @property
    def slope_of_bulk(self) -> float:
        """dy / dvalue where nothing is compressed."""
        return 1.0 / (self.scale * self.unit)

    def forward(self, values: HostArray) -> HostArray:
        """y of values."""
        return (self._compress(np.asarray(values, dtype=np.float64) / self.unit) - self.center) / self.scale

    def inverse(self, y: HostArray) -> HostArray:
        """Values of y."""
        v = np.asarray(y, dtype=np.float64) * self.scale + self.center
        below, above = self._beyond(v)
        v = np.where(below > 0.0, self.low - self.width * _stretch(below), v)
        return np.asarray(np.where(above > 0.0, self.high + self.width * _stretch(above), v) * self.unit)

    def slope(self, values: HostArray) -> HostArray:
        """dy / dvalue, by which standard deviations are multiplied."""
        below, above = self._beyond(np.asarray(values, dtype=np.float64) / self.unit)
        return np.asarray(self.slope_of_bulk * _squeeze_slope(below) * _squeeze_slope(above))

    def spread(self, mean: HostArray, sd: HostArray) -> HostArray:
        """The standard deviation of a value, to first order, of y with this mean and sd."""
        return np.asarray(sd / self.slope(self.inverse(mean)))

    def _beyond(self, v: HostArray) -> tuple[HostArray, HostArray]:
        """How far v is below and above the fences, in widths."""
        return np.maximum((self.low - v) / self.width, 0.0), np.maximum((v - self.high) / self.width, 0.0)

    def _compress(self, v: HostArray) -> HostArray:
        below, above = self._beyond(v)
        v = np.where(below > 0.0, self.low - self.width * _squeeze(below), v)
        return np.asarray(np.where(above > 0.0, self.high + self.width * _squeeze(above), v))


def _squeeze(t: HostArray) -> HostArray:
    """log(1 + t), and from LONG on its excess once more: from 1e9 widths to 11, from 1e300 to 15."""
    z = np.log1p(t)
    return np.asarray(np.where(z > LONG, LONG + np.log1p(np.maximum(z - LONG, 0.0)), z))


def _stretch(z: HostArray) -> HostArray:
    """The inverse, up to FARTHEST."""
    log = np.where(z > LONG, LONG + np.expm1(np.minimum(np.maximum(z - LONG, 0.0), 7.0)), z)
    return np.asarray(np.expm1(np.minimum(log, FARTHEST)))


def _squeeze_slope(t: HostArray) -> HostArray:
    z = np.log1p(t)
    return 1.0 / ((1.0 + t) * (1.0 + np.maximum(z - LONG, 0.0)))
