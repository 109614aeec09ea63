"""Pareto fronts of values to be maximized: which points are not dominated, how much they dominate, what is beyond.

Volumes and cells come from slices along the last value: between two levels of it, only the points above the upper one
dominate, in the other values.

Notation
    n    points          m    values of each          c    cells
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from xstar.numerics.arrays import HostArray


class Cells(NamedTuple):
    """Disjoint boxes that make up what no point of a front dominates, above a reference."""

    lower: HostArray
    """Shape (c, m)."""
    upper: HostArray
    """Shape (c, m); infinite where a box has no end."""


def nondominated(values: HostArray) -> HostArray:
    """Return which rows of values (n, m) no other row dominates; of equal rows, the first."""
    kept = np.zeros(len(values), dtype=bool)
    if values.shape[1] == 2 and len(values):
        # From the largest first value down, those whose second value exceeds all before.
        order = np.lexsort((-values[:, 1], -values[:, 0]))
        second = values[order, 1]
        before = np.maximum.accumulate(np.concatenate([[-math.inf], second[:-1]]))
        kept[order] = second > before
        kept[order[0]] = True
        return kept
    height = _in_ranges(values).sum(axis=1)
    left = np.arange(len(values))
    while len(left):
        # Nothing that is left dominates the highest of them.
        best = left[np.argmax(height[left])]
        kept[best] = True
        left = left[np.any(values[left] > values[best], axis=1)]
    return kept


def hypervolume(values: HostArray, reference: HostArray) -> float:
    """Return the volume above a reference (m,) that values (n, m) dominate."""
    above = values[np.all(values > reference, axis=1)]
    if not len(above):
        return 0.0
    if values.shape[1] == 1:
        return float(np.max(above) - reference[0])
    if values.shape[1] == 2:
        ordered = above[np.argsort(-above[:, 0], kind="stable")]
        tops = np.maximum.accumulate(np.concatenate([reference[1:], ordered[:, 1]]))
        return float(np.sum((ordered[:, 0] - reference[0]) * np.diff(tops)))
    front = above[nondominated(above)]
    levels = np.unique(np.append(front[:, -1], reference[-1]))
    slices = (hypervolume(front[front[:, -1] >= high, :-1], reference[:-1]) for high in levels[1:])
    return float(sum(height * area for height, area in zip(np.diff(levels), slices, strict=True)))


def cells(values: HostArray, reference: HostArray) -> Cells:
    """Return what values (n, m) do not dominate above a reference (m,), which may be minus infinity."""
    above = values[np.all(values > reference, axis=1)]
    front = above[nondominated(above)]
    if values.shape[1] == 1:
        return Cells(np.max(front, axis=0, initial=reference[0])[None], np.array([[math.inf]]))
    levels = np.unique(np.append(front[:, -1], reference[-1]))
    ends = np.append(levels[1:], math.inf)
    parts = [cells(front[front[:, -1] >= high, :-1], reference[:-1]) for high in ends]

    def with_level(sides: list[HostArray], level: HostArray) -> HostArray:
        return np.concatenate([np.c_[side, np.full(len(side), end)] for side, end in zip(sides, level, strict=True)])

    return Cells(with_level([p.lower for p in parts], levels), with_level([p.upper for p in parts], ends))


def spread_out(values: HostArray, count: int, *first: int) -> HostArray:
    """Return positions of at most `count` rows of values (n, m), far from each other, beginning with the first ones.

    Distances are measured in units of the ranges of the values; of rows that are alike, one is returned.
    """
    scaled = _in_ranges(values)
    chosen = list(first)
    gap = np.min([np.max(np.abs(scaled - scaled[k]), axis=1) for k in chosen], axis=0)
    while len(chosen) < min(count, len(values)):
        gap = np.minimum(gap, np.max(np.abs(scaled - scaled[chosen[-1]]), axis=1))
        if gap.max() <= 0.0:
            break
        chosen.append(int(np.argmax(gap)))
    return np.array(chosen)


def _in_ranges(values: HostArray) -> HostArray:
    """Values in units of their ranges."""
    if not len(values):
        return values
    span = np.ptp(values, axis=0)
    return np.asarray((values - values.min(axis=0)) / np.where(span > 0.0, span, 1.0))
