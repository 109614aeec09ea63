"""The volume that a set of points dominates, for any number of objectives, all minimized.

    points       values of the objectives    (n, m)
    reference    what is no longer counted   (m,)

Three objectives are swept along the first one, above a staircase of the other two; more are cut into slices.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from experiments.problems import Rows

Flags = NDArray[np.bool_]


def nondominated(points: Rows) -> Flags:
    """Which points, (n,), no other one dominates; of equal ones the first."""
    order = np.lexsort(points.T[::-1])
    kept = np.zeros(len(points), dtype=bool)
    if points.shape[1] == 2:
        # In the order of the first objective, a point is on the front if it lowers the second.
        second = points[order, 1]
        kept[order] = second < np.concatenate([[np.inf], np.minimum.accumulate(second)[:-1]])
    elif points.shape[1] == 3:
        kept[order] = _sweep(points[order], points.max(axis=0, initial=0.0) + 1.0)[0]
    else:
        front, count = np.empty_like(points), 0
        for k in order:
            if not np.any(np.all(front[:count] <= points[k], axis=1)):
                kept[k], front[count], count = True, points[k], count + 1
    return kept


def hypervolume(points: Rows, reference: Rows) -> float:
    """The volume between the points and the reference.

    Between two neighboring values of an objective, what is dominated is a prism over what the points up to there
    dominate in the other objectives.
    """
    points, reference = np.asarray(points, dtype=float), np.asarray(reference, dtype=float)
    points = points[np.all(points < reference, axis=1)]
    if len(points) == 0:
        return 0.0
    if points.shape[1] == 1:
        return float(reference[0] - points.min())
    points = points[nondominated(points)]
    points = points[np.lexsort(points.T[::-1])]
    if points.shape[1] == 3:
        return _sweep(points, reference)[1]
    heights = np.diff(np.append(points[:, 0], reference[0]))
    if points.shape[1] == 2:
        return float(heights @ (reference[1] - points[:, 1]))
    return sum(
        float(height) * hypervolume(points[: k + 1, 1:], reference[1:])
        for k, height in enumerate(heights)
        if height > 0.0
    )


def _sweep(points: Rows, reference: Rows) -> tuple[Flags, float]:
    """Which of three objectives' points, in the order of the first one, are not dominated; and their volume.

    In the plane of the other two, the points so far dominate what lies above a staircase: corners from left to right,
    each lower than the one before. The volume is its area, integrated along the first objective.
    """
    across: list[float] = []
    up: list[float] = []
    kept = np.zeros(len(points), dtype=bool)
    area, volume = 0.0, 0.0
    before, right, top = points[0, 0] if len(points) else 0.0, float(reference[1]), float(reference[2])
    for k, (first, x, y) in enumerate(points.tolist()):
        volume += area * (first - before)
        before = first
        left = bisect_right(across, x)
        if left and up[left - 1] <= y:
            continue
        kept[k] = True
        # Above and to the right, corners are dominated from here on, up to the first one that is lower.
        end, edge, level = left, x, up[left - 1] if left else top
        while end < len(across) and up[end] >= y:
            area += (across[end] - edge) * (level - y)
            edge, level = across[end], up[end]
            end += 1
        area += ((across[end] if end < len(across) else right) - edge) * (level - y)
        begin = left - 1 if left and across[left - 1] == x else left
        across[begin:end], up[begin:end] = [x], [y]
    return kept, volume + area * (float(reference[0]) - before)
