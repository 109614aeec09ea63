"""Medians of regrets, their bootstrap bands, and comparisons of two methods.

The median is what [HHG14] shows: regrets are spread over decades. Everything is in decimal logarithms of medians over
repeats. A bootstrap draws repeats anew; where two methods are compared, it draws the same for both, because they share
starts and noise (and, within the model, the function).

Notation
    n    repeats          e    recommendations of a run          B    bootstrap draws
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.problems import Rows
from experiments.store import Curves

DRAWS, SEED = 400, 0xB007
LEAST = 1e-12
"""Regrets below this are rounding."""
LEVEL = 0.95
"""Of intervals."""
MARGIN = 0.1
"""Methods whose logarithms differ by less do equally well: a factor of 1.26."""
FEWEST = 6
"""Repeats, below which a bootstrap knows nothing of the spread: intervals are all of the line then."""
UNKNOWN = "too few repeats to tell"


class Band(NamedTuple):
    """A median curve in decimal logarithms, and one standard deviation of its bootstrap draws."""

    middle: Rows
    sd: Rows


class Interval(NamedTuple):
    """A number, and where it may lie."""

    middle: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """-1 or 1 if the interval lies on one side of zero, otherwise 0."""
        return int(self.low > 0.0) - int(self.high < 0.0)


class Comparison(NamedTuple):
    """log10 of the median regret of one method minus that of another: below zero, the first is better."""

    repeats: int
    last: Interval
    """After the last evaluation."""
    run: Interval
    """The mean over all evaluations after the start."""
    ahead: int
    """After how many of the evaluations the first one's median is the smaller."""
    evaluations: int
    """How many were made after the start."""

    @property
    def verdict(self) -> str:
        """In a word, for the first method."""
        if self.repeats < FEWEST:
            return UNKNOWN
        signs = {self.last.sign, self.run.sign}
        if signs == {-1, 1}:
            return "better in the end, worse before" if self.last.sign < 0 else "better at first, worse in the end"
        return {-1: "better", 0: "no different", 1: "worse"}[min(signs) if min(signs) < 0 else max(signs)]

    @property
    def alike(self) -> bool:
        """Whether they do equally well: surely over the run, and as far as can be seen in the end."""
        return self.run.low > -MARGIN and self.run.high < MARGIN and abs(self.last.middle) < MARGIN


def band(curves: Curves) -> Band:
    """The median of a method's curves."""
    drawn = _medians(curves.regret)
    return Band(_log(np.median(curves.regret, axis=0)), np.std(drawn, axis=0))


def on_shared(first: Curves, second: Curves) -> tuple[Rows, Rows]:
    """The regrets of two methods on the repeats that both have made, as far as both go; shapes (n, e)."""
    shared = sorted(set(first.repeats) & set(second.repeats))
    if not shared:
        raise ValueError("the two methods have no repeats in common.")
    length = min(first.regret.shape[1], second.regret.shape[1])
    mine, other = (
        curves.regret[[curves.repeats.index(repeat) for repeat in shared], :length] for curves in (first, second)
    )
    return mine, other


def compare(first: Curves, second: Curves) -> Comparison:
    """Two methods on the repeats that both have made."""
    mine, other = on_shared(first, second)
    gap = _log(np.median(mine, axis=0)) - _log(np.median(other, axis=0))
    drawn = _medians(mine) - _medians(other)
    interval = _interval if len(mine) >= FEWEST else _anywhere
    return Comparison(
        len(mine),
        interval(float(gap[-1]), drawn[:, -1]),
        interval(float(gap[1:].mean()), drawn[:, 1:].mean(axis=1)),
        int(np.sum(gap[1:] < 0.0)),
        mine.shape[1] - 1,
    )


def _interval(middle: float, drawn: Rows) -> Interval:
    low, high = np.quantile(drawn, [0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0])
    return Interval(middle, float(low), float(high))


def _anywhere(middle: float, _: Rows) -> Interval:
    return Interval(middle, -np.inf, np.inf)


def _medians(regret: Rows) -> Rows:
    """log10 of the medians of draws of repeats, (B, e); the same draws for any method with as many."""
    n = len(regret)
    picks = np.random.default_rng([SEED, n]).integers(n, size=(DRAWS, n))
    drawn = np.stack([np.bincount(pick, minlength=n) for pick in picks])
    return _log(np.stack([_medians_of(values, drawn) for values in regret.T], axis=1))


def _medians_of(values: Rows, drawn: np.ndarray) -> Rows:
    """Medians (B,) of values (n,), each taken as often as it was drawn (B, n).

    Values are sorted once: a draw's median is where the counts, added up in that order, pass the middle.
    """
    n, order = len(values), np.argsort(values)
    up_to = np.cumsum(drawn[:, order], axis=1)
    lower, upper = (values[order][np.argmax(up_to >= rank, axis=1)] for rank in ((n + 1) // 2, n // 2 + 1))
    return np.asarray((lower + upper) / 2.0)


def _log(regret: Rows) -> Rows:
    return np.asarray(np.log10(np.maximum(regret, LEAST)))
