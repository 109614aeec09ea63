"""Which of many local searches are worth finishing."""

from __future__ import annotations

import numpy as np

from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy, top_k
from xstar.numerics.ascent import Cull


def best_distinct(count: int, closeness: float) -> Cull:
    """Return a rule: the best `count` searches of each problem go on, none within `closeness` of a better one."""

    def cull(x: Array, value: Array) -> HostArray:
        order, repeated = (to_numpy(part) for part in _ranked(x, value, closeness))
        kept = ~repeated & (np.cumsum(~repeated, axis=1) <= count)
        mask: HostArray = np.empty(kept.shape, dtype=bool)
        np.put_along_axis(mask, order, kept, axis=1)
        return mask

    return cull


def best_hills(x: Array, value: Array, count: int, closeness: float) -> Array:
    """Return positions (P, count) of the best points (P, q, d) by values (P, q), one for each hill, highest first.

    A point within `closeness` of a better one, in every coordinate, is on the same hill; if there are too few hills,
    such points follow.
    """
    xp = namespace(x)
    P, q, _ = x.shape
    order, repeated = _ranked(x, value, closeness)
    # Repeated ones go behind the others, both in the order of their heights.
    rank = move(np.arange(q), order) + q * xp.astype(repeated, order.dtype)
    first = xp.argsort(rank, axis=-1)[:, :count]
    offset = move(np.arange(P)[:, None] * q, order)
    return xp.reshape(xp.take(xp.reshape(order, (-1,)), xp.reshape(first + offset, (-1,)), axis=0), (P, count))


def _ranked(x: Array, value: Array, closeness: float) -> tuple[Array, Array]:
    """Positions (P, q) from the highest to the lowest, and which of them are close to a higher one."""
    xp = namespace(x)
    P, q, d = x.shape
    order = top_k(xp.where(xp.isfinite(value), value, -xp.inf), q)
    rows = xp.reshape(order + move(np.arange(P)[:, None] * q, order), (-1,))
    ranked = xp.reshape(xp.take(xp.reshape(x, (P * q, d)), rows, axis=0), (P, q, d))
    near = xp.max(xp.abs(ranked[:, :, None, :] - ranked[:, None, :, :]), axis=-1) < closeness
    return order, xp.any(near & move(np.tri(q, k=-1, dtype=bool), near), axis=-1)
