"""Where a search on the cube begins: points all over it, the data, and a spray around the best of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xstar.gp.observations import check_points
from xstar.numerics.arrays import Array, HostArray, move, to_numpy
from xstar.numerics.checks import integer
from xstar.numerics.designs import sobol

SPRAY_SCALES = (1e-1, 1e-2, 1e-3)
"""Standard deviations of the spray: late in a run the maximum is much narrower than the gaps of the design."""


def inside_cube(points: Array) -> HostArray:
    """Which rows (..., n, d) lie in the cube: data from elsewhere may not, and are no incumbents then."""
    host = to_numpy(points)
    return np.asarray(np.all((host >= 0.0) & (host <= 1.0), axis=-1))


class Candidates(NamedTuple):
    """Points of a design for all functions, and more for each of R groups of them."""

    design: Array
    """Shape (N, d)."""
    own: Array
    """Shape (R, M, d)."""


def draw_candidates(
    count: int, known: Array, rng: np.random.Generator, *, around: Array | None = None, num_spray: int = 8
) -> Array:
    """`count` scrambled Sobol points, the known points (n, d), and a spray about each row of `around` (k, d).

    The spray has `num_spray` points at each of three widths about each row. All are inside the cube, in the
    namespace and on the device of `known`.
    """
    integer(count, "count", 1)
    known = check_points(known, "known", table=True)
    design = sobol(count, int(known.shape[-1]), rng)
    around = None if around is None else check_points(around, "around", dimension=int(known.shape[-1]), table=True)
    together = np.concatenate([design, spray(to_numpy(known), around, rng, num_spray)])
    return move(np.clip(together, 0.0, 1.0), known)


def draw_grouped(count: int, known: Array, rng: np.random.Generator, *, around: Array) -> Candidates:
    """The same for known points (R, n, d) and centers (R, k, d) of R groups: a common design, and what is their own."""
    design = sobol(count, int(known.shape[-1]), rng)
    own = spray(to_numpy(known), around, rng, num_spray=8)
    return Candidates(move(design, known), move(np.clip(own, 0.0, 1.0), known))


def spray(known: HostArray, around: Array | None, rng: np.random.Generator, num_spray: int) -> HostArray:
    """The known points (..., n, d), the centers (..., k, d) and points about them, the same offsets for all groups."""
    integer(num_spray, "num_spray", 0)
    if around is None:
        return known
    centers, d = to_numpy(around), known.shape[-1]
    parts = [known, centers]
    for scale in SPRAY_SCALES:
        offsets = scale * rng.standard_normal((centers.shape[-2], num_spray, d))
        parts.append((centers[..., None, :] + offsets).reshape(*centers.shape[:-2], -1, d))
    return np.concatenate(parts, axis=-2)
