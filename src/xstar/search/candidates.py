"""Where a search on the cube begins: points all over it, the data, and local candidates about the best of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from xstar.gp.observations import check_points
from xstar.numerics.arrays import Array, HostArray, move, to_numpy
from xstar.numerics.checks import integer
from xstar.numerics.designs import sobol
from xstar.search.settings import SearchSettings


def inside_cube(points: Array) -> HostArray:
    """Return which rows (..., n, d) lie in the cube: data from elsewhere may not, and are no incumbents then.

    Parameters
    ----------
    points : array of shape (..., n, d)

    Returns
    -------
    ndarray of bool, shape (..., n)

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.search import inside_cube
    >>> inside_cube(np.array([[0.5, 1.0], [0.5, 1.1]])).tolist()
    [True, False]
    """
    host = to_numpy(points)
    return np.asarray(np.all((host >= 0.0) & (host <= 1.0), axis=-1))


class Candidates(NamedTuple):
    """Points of a design for all functions, and more for each of R groups of them."""

    design: Array
    """Shape (N, d)."""
    own: Array
    """Shape (R, M, d)."""


def draw_candidates(
    count: int,
    known: ArrayLike,
    rng: np.random.Generator,
    *,
    around: ArrayLike | None = None,
    settings: SearchSettings | None = None,
) -> Array:
    """Draw the candidates of a search.

    Parameters
    ----------
    count : int
        Scrambled Sobol points.
    known : array_like of shape (n, d)
        Points that are candidates too, such as the data.
    rng : numpy.random.Generator
        Of the scrambling and the perturbations.
    around : array_like of shape (k, d), optional
        Centers of local candidates, themselves among them.
    settings : SearchSettings, optional
        How many local candidates there are and how far from the centers.

    Returns
    -------
    array of shape (N, d)
        All inside the cube, in the namespace and on the device of `known`.

    Raises
    ------
    DataError
        If the points are not finite or have the wrong shape.
    SettingsError
        If `count` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.search import draw_candidates
    >>> draw_candidates(64, np.zeros((0, 3)), np.random.default_rng(0), around=[[0.2, 0.5, 0.9]]).shape
    (89, 3)
    """
    integer(count, "count", 1)
    points = check_points(known, "known", table=True)
    d = int(points.shape[-1])
    design = sobol(count, d, rng)
    centers = None if around is None else check_points(around, "around", dimension=d, table=True)
    own = _with_perturbations(to_numpy(points), centers, rng, settings or SearchSettings())
    return move(np.clip(np.concatenate([design, own]), 0.0, 1.0), points)


def draw_grouped(
    count: int, known: Array, rng: np.random.Generator, *, around: Array, settings: SearchSettings | None = None
) -> Candidates:
    """Draw the candidates of R groups of functions: a common design, and what is their own.

    Parameters
    ----------
    count : int
        Scrambled Sobol points, the same for all groups.
    known : array of shape (R, n, d)
        Points of each group that are candidates too.
    rng : numpy.random.Generator
        Of the scrambling and the perturbations, which are the same for all groups.
    around : array of shape (R, k, d)
        Centers of each group's local candidates.
    settings : SearchSettings, optional
        How many local candidates there are and how far from the centers.

    Returns
    -------
    Candidates
        The design (count, d), and own candidates (R, M, d).
    """
    design = sobol(count, int(known.shape[-1]), rng)
    own = _with_perturbations(to_numpy(known), around, rng, settings or SearchSettings())
    return Candidates(move(design, known), move(np.clip(own, 0.0, 1.0), known))


def _with_perturbations(
    known: HostArray, around: Array | None, rng: np.random.Generator, settings: SearchSettings
) -> HostArray:
    """The known points (..., n, d), the centers (..., k, d) and perturbations of them, the same for all groups."""
    if around is None:
        return known
    centers, d = to_numpy(around), known.shape[-1]
    parts = [known, centers]
    for scale in settings.perturbation_scales:
        offsets = scale * rng.standard_normal((centers.shape[-2], settings.num_perturbations, d))
        parts.append((centers[..., None, :] + offsets).reshape(*centers.shape[:-2], -1, d))
    return np.concatenate(parts, axis=-2)
