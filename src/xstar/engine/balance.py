"""What a suggestion is for: information about the optimum, a better value, or the confirmation of what is known.

The rule looks at three heights of y: that of the best point tested, that of the best point of all, and the mean height
of the sampled maxima. The first two are a step that is known to be gained; the third says how much may be left to find.
An improvement is worth a turn if it is expected to bring a fair share of that: at the lower one of two maxima the best
next step is small, and what may be left is elsewhere.

Notation
    R    problems; 1 unless they advance in lockstep
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from xstar.methods import Balance
from xstar.numerics.arrays import HostArray

Purpose = Literal["explore", "improve", "confirm"]
ROUNDING = 1e-9
"""A smaller gain in y is none."""
FEW_OPTIMA = 10
"""Sampled maxima that tell whether improvement is worth a turn: it is a matter of orders of magnitude."""


class Outlook(NamedTuple):
    """How high is what is known, and what may be, in y; arrays of shape (R,)."""

    tested: HostArray
    """The largest posterior mean at a point that has been evaluated, or is pending."""
    best: HostArray
    """The largest posterior mean anywhere."""
    optimum: HostArray
    """The mean of the sampled maxima."""

    @property
    def gain(self) -> HostArray:
        """What the best point is known to gain over what was tested."""
        return self.best - self.tested

    @property
    def left(self) -> HostArray:
        """What may be left to find beyond the best point."""
        return np.asarray(np.maximum(self.optimum - self.best, 0.0))


def is_turn_to_improve(balance: Balance, number: int) -> bool:
    """Return whether the suggestion of a number may improve; the share of all numbers that may is `improve`."""
    return math.floor((number + 1) * balance.improve + ROUNDING) > math.floor(number * balance.improve + ROUNDING)


def may_improve(balance: Balance, tested: HostArray, optimum: HostArray, noise: HostArray) -> HostArray:
    """Return in which problems enough is left to find above what was tested, measured by the noise, shape (R,)."""
    return np.asarray(optimum - tested > balance.improve_above * noise + ROUNDING)


def is_worthwhile(balance: Balance, expected: HostArray, tested: HostArray, optimum: HostArray) -> HostArray:
    """Return in which problems the expected improvement (R,) is a fair share of what may be left, shape (R,)."""
    if balance.least_gain == 0.0:  # no share of what is left, even if nothing was tested and that is infinite
        return np.isfinite(expected)
    return np.asarray(expected >= balance.least_gain * (optimum - tested))


def confirms(balance: Balance, outlook: Outlook) -> HostArray:
    """Return in which problems the best point is to be evaluated, shape (R,)."""
    worth = outlook.gain > balance.confirm * outlook.left + ROUNDING
    return np.asarray(worth & (balance.confirm > 0.0))
