"""Where a search on the cube begins: points all over it, the data, and a spray around the best of them."""

from __future__ import annotations

import numpy as np

from xstar.gp.observations import check_points
from xstar.numerics.arrays import Array, HostArray, move, to_numpy
from xstar.numerics.checks import integer
from xstar.numerics.designs import sobol

SPRAY_SCALES = (1e-1, 1e-2, 1e-3)
"""Standard deviations of the spray: late in a run the maximum is much narrower than the gaps of the design."""


def inside_cube(points: Array) -> HostArray:
    """Which rows (n, d) lie in the cube: data from elsewhere may not, and are no incumbents then."""
    host = to_numpy(points)
    return np.asarray(np.all((host >= 0.0) & (host <= 1.0), axis=-1))


def draw_candidates(
    count: int, known: Array, rng: np.random.Generator, *, around: Array | None = None, num_spray: int = 8
) -> Array:
    """`count` scrambled Sobol points, the known points (n, d), and a spray about each row of `around` (k, d).

    The spray has `num_spray` points at each of three widths about each row. All are inside the cube, in the
    namespace and on the device of `known`.
    """
    integer(count, "count", 1)
    integer(num_spray, "num_spray", 0)
    known = check_points(known, "known", table=True)
    d = known.shape[-1]
    parts = [sobol(count, d, rng), to_numpy(known)]
    if around is not None:
        centers = to_numpy(check_points(around, "around", dimension=d, table=True))
        parts.append(centers)
        for scale in SPRAY_SCALES:
            sprayed = centers[:, None, :] + scale * rng.standard_normal((len(centers), num_spray, d))
            parts.append(sprayed.reshape(-1, d))
    return move(np.clip(np.concatenate(parts), 0.0, 1.0), known)
