"""From values in the user's units to a standardized y, and back.

    y = (warped(value / unit) - center) / scale

In the bulk of the values, and above it, this is a shift and a scale. Values far below the bulk (a diverged run, a
penalty of -1e9) are warped by a logarithm: they are bad, and how bad is of no interest to a search for the maximum. So
are values absurdly far above the bulk, much later. Unlike winsorizing, this never changes the order of values.
Everything is relative to the spread of the values, so that shifting and scaling them changes nothing.

Notation
    v            value / unit, where unit is a power of two near the largest |value|, so that nothing overflows    (...)
    low, high    where the warp begins, in v
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from xstar.methods import WarpSettings
from xstar.numerics.arrays import HostArray

LARGEST_EXPONENT = 600.0
"""On the way back: what lies beyond overflows."""
LARGEST = float(np.finfo(np.float64).max)
"""No value is beyond."""
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""Values whose spread is a smaller share of the largest differ by rounding only."""


@dataclass(frozen=True)
class Scaling:
    """An increasing map from values, larger is better, to y."""

    center: float = 0.0
    scale: float = 1.0
    low: float = -math.inf
    high: float = math.inf
    """Where the warp begins."""
    width: float = 1.0
    """How quickly the logarithm sets in beyond: the interquartile range."""
    unit: float = 1.0
    informative: bool = True
    """Whether the values differed by more than rounding; if not, the scale of y is arbitrary."""
    warp: WarpSettings = field(default_factory=WarpSettings)

    @classmethod
    def fit(cls, values: HostArray, weights: HostArray, warp: WarpSettings | None = None) -> Scaling:
        """Fit to values (n,), n >= 1, maybe all the same; weights (n,) sum to 1 and are those of the center."""
        warp = warp or WarpSettings()
        exponent = math.frexp(float(np.max(np.abs(values))))[1]
        unit = 2.0 ** min(max(exponent, -1000), 1023)
        v = np.asarray(values, dtype=np.float64) / unit
        low, high, width = -math.inf, math.inf, 1.0
        if len(v) >= warp.min_values:
            quarter, median, three_quarters = np.quantile(v, [0.25, 0.5, 0.75])
            if three_quarters - quarter > ROUNDING * max(abs(quarter), abs(three_quarters)):
                width = float(three_quarters - quarter)
                low, high = float(median - warp.below * width), float(median + warp.above * width)
        warped = cls(low=low, high=high, width=width, warp=warp)._warped(v)
        center = float(np.sum(weights * warped))
        # In units of the largest, because the bulk may be far smaller than what was warped.
        largest = float(np.max(np.abs(warped))) or 1.0
        scale = largest * float(np.sqrt(np.mean(np.square((warped - center) / largest))))
        if scale <= ROUNDING * largest:
            # Nothing is known of the scale; the user's own unit is as good as any.
            return cls(center=float(v[0]), scale=1.0 / unit, unit=unit, informative=False, warp=warp)
        return cls(center, scale, low, high, width, unit, warp=warp)

    @property
    def slope_of_bulk(self) -> float:
        """dy / dvalue where nothing is warped."""
        return 1.0 / (self.scale * self.unit)

    def forward(self, values: HostArray) -> HostArray:
        """Return y of values."""
        return (self._warped(np.asarray(values, dtype=np.float64) / self.unit) - self.center) / self.scale

    def inverse(self, y: HostArray) -> HostArray:
        """Return values of y."""
        v = np.asarray(y, dtype=np.float64) * self.scale + self.center
        (below, above), far = self._beyond(v), self.warp.second_warp
        v = np.where(below > 0.0, self.low - self.width * _unwarped(below, far), v)
        v = np.where(above > 0.0, self.high + self.width * _unwarped(above, far), v)
        # Beyond the largest values told there may be numbers that a float cannot hold.
        with np.errstate(over="ignore"):
            return np.clip(v * self.unit, -LARGEST, LARGEST)

    def slope(self, values: HostArray) -> HostArray:
        """Return dy / dvalue, by which standard deviations are multiplied."""
        below, above = self._beyond(np.asarray(values, dtype=np.float64) / self.unit)
        far = self.warp.second_warp
        return np.asarray(self.slope_of_bulk * _log_warp_slope(below, far) * _log_warp_slope(above, far))

    def log_jacobian(self, values: HostArray) -> float:
        """Return the sum of log dy / dvalue: the log density of values is that of y plus this."""
        # Values of 1e300 have a slope that underflows; then all transforms have the same.
        return float(np.sum(np.log(np.maximum(self.slope(values), np.finfo(np.float64).tiny))))

    def spread(self, mean: HostArray, sd: HostArray) -> HostArray:
        """Return the standard deviation of a value, to first order, of y with this mean and sd."""
        with np.errstate(over="ignore", divide="ignore"):  # likewise, and where the warp is flat to rounding
            return np.minimum(sd / self.slope(self.inverse(mean)), LARGEST)

    def _beyond(self, v: HostArray) -> tuple[HostArray, HostArray]:
        """How far v is below `low` and above `high`, in widths."""
        with np.errstate(over="ignore"):  # by the smallest widths
            below, above = (self.low - v) / self.width, (v - self.high) / self.width
        return np.clip(below, 0.0, LARGEST), np.clip(above, 0.0, LARGEST)

    def _warped(self, v: HostArray) -> HostArray:
        (below, above), far = self._beyond(v), self.warp.second_warp
        v = np.where(below > 0.0, self.low - self.width * _log_warp(below, far), v)
        return np.asarray(np.where(above > 0.0, self.high + self.width * _log_warp(above, far), v))


def _log_warp(t: HostArray, far: float) -> HostArray:
    """log(1 + t), and from `far` on its excess once more: with 8, from 1e9 widths to 11, from 1e300 to 15."""
    z = np.log1p(t)
    return np.asarray(np.where(z > far, far + np.log1p(np.maximum(z - far, 0.0)), z))


def _unwarped(z: HostArray, far: float) -> HostArray:
    """The inverse, up to the largest exponent."""
    log = np.where(z > far, far + np.expm1(np.minimum(np.maximum(z - far, 0.0), 7.0)), z)
    return np.asarray(np.expm1(np.minimum(log, LARGEST_EXPONENT)))


def _log_warp_slope(t: HostArray, far: float) -> HostArray:
    z = np.log1p(t)
    return 1.0 / (1.0 + t) / (1.0 + np.maximum(z - far, 0.0))
