"""Which of many climbs are worth finishing."""

from __future__ import annotations

import numpy as np

from xstar.numerics.arrays import Array, HostArray, to_numpy
from xstar.numerics.ascent import Cull


def best_distinct(count: int, closeness: float) -> Cull:
    """Go on with the best `count` climbs of each problem, counting those within `closeness` of a better one as one."""

    def cull(x: Array, value: Array) -> HostArray:
        height = to_numpy(value)
        order = np.argsort(-height, axis=1, kind="stable")
        ranked = np.take_along_axis(to_numpy(x), order[..., None], axis=1)
        repeats = np.zeros(height.shape, dtype=bool)
        for k in range(1, height.shape[1]):
            near = np.max(np.abs(ranked[:, :k] - ranked[:, k : k + 1]), axis=-1) < closeness
            repeats[:, k] = near.any(axis=1)
        kept = ~repeats & (np.cumsum(~repeats, axis=1) <= count)
        mask: HostArray = np.empty(kept.shape, dtype=bool)
        np.put_along_axis(mask, order, kept, axis=1)
        return mask

    return cull
