"""Fewer data, where there are more than an exact model can take in reasonable time.

Half of those kept cover the space, so that nothing is forgotten that was learned far from the optimum. The other half
are where values are best. A value's neighbors have a say in that: chosen by single noisy values, the model would be
shown the lucky ones only.
"""

from __future__ import annotations

import numpy as np

from xstar.numerics.arrays import HostArray


def thin(X: HostArray, values: HostArray, limit: int, num_neighbors: int = 5) -> HostArray:
    """Return the indices, in order, of at most `limit` of the data (n, d), (n,); larger values are better.

    A value counts as the mean over `num_neighbors`, its own among them.
    """
    if len(X) <= limit:
        return np.arange(len(X))
    from scipy.spatial import cKDTree

    _, near = cKDTree(X).query(X, k=min(num_neighbors, len(X)))
    best_first = np.argsort(-values[np.reshape(near, (len(X), -1))].mean(axis=1), kind="stable")
    chosen = best_first[: limit - limit // 2]
    return np.sort(np.concatenate([chosen, cover(X, chosen, limit // 2)]))


def cover(X: HostArray, chosen: HostArray, count: int) -> HostArray:
    """Return the indices of `count` more points, each as far as possible from those chosen before it."""
    taken = np.zeros(len(X), dtype=bool)
    taken[chosen] = True
    gap = np.full(len(X), np.inf)
    for k in chosen:
        gap = np.minimum(gap, _distances(X, X[k]))
    found = []
    for _ in range(min(count, len(X) - len(chosen))):
        furthest = int(np.argmax(np.where(taken, -1.0, gap)))
        found.append(furthest)
        taken[furthest] = True
        gap = np.minimum(gap, _distances(X, X[furthest]))
    return np.array(found, dtype=np.int64)


def _distances(X: HostArray, x: HostArray) -> HostArray:
    return np.asarray(np.sqrt(np.sum((X - x) ** 2, axis=1)))
