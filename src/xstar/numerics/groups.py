"""Groups of points that are close together: where sampled optima fall into several places.

Two points are linked if they are close in every coordinate; a group is what links connect (single linkage). How close
that is follows from the points themselves, so that one wide cloud is one group in any number of dimensions, while a
gap in which there is nothing divides two.
"""

from __future__ import annotations

import numpy as np

from xstar.numerics.arrays import HostArray

GAP = 0.1
"""Points that are closer than this share of a range are never apart."""
NEIGHBORS, FAR = 0.9, 2.0
"""Links reach twice as far as the nearest neighbor of all but a tenth of the points."""


def groups_of(points: HostArray, steps: HostArray) -> tuple[tuple[int, ...], ...]:
    """Return the groups of points (n, d) in the unit cube, the largest first, each with its middle point first.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Without coordinates, all are one group.
    steps : ndarray of shape (d,)
        Of coordinates with few levels; 0 for others. Neighboring levels are never apart.

    Returns
    -------
    tuple of tuple of int

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.numerics.groups import groups_of
    >>> groups_of(np.array([[0.1], [0.12], [0.9], [0.11], [0.91]]), np.zeros(1))
    ((3, 0, 1), (2, 4))
    """
    n = len(points)
    if n == 0:
        return ()
    scaled = points / np.maximum(GAP, 1.01 * steps)
    apart = np.zeros((n, n))
    for column in scaled.T:
        np.maximum(apart, np.abs(column[:, None] - column[None]), out=apart)
    if n > 1:
        nearest = np.min(apart + np.diag(np.full(n, np.inf)), axis=1)
        reach = max(1.0, FAR * float(np.quantile(nearest, NEIGHBORS)))
    else:
        reach = 1.0
    labels = _connected(apart <= reach)
    found = []
    for label in range(labels.max() + 1):
        members = np.flatnonzero(labels == label)
        middle = int(members[np.argmin(apart[np.ix_(members, members)].sum(axis=1))])
        found.append((middle, *(int(k) for k in members if k != middle)))
    return tuple(sorted(found, key=lambda group: (-len(group), group)))


def _connected(linked: HostArray) -> HostArray:
    """The component of each point."""
    labels = np.full(len(linked), -1)
    for start in range(len(linked)):
        if labels[start] >= 0:
            continue
        label, front = int(labels.max()) + 1, np.zeros(len(linked), dtype=bool)
        front[start] = True
        while front.any():
            labels[front] = label
            front = linked[front].any(axis=0) & (labels < 0)
    return labels
