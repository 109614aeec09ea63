"""Draws from p(x_star | D): the maximizers of posterior sample paths [HHG14, section 2.1].

Notation
    R    problems, each with its own data
    H    hyperparameter samples          S    paths of each
    x    sampled maximizers x_star       (R, H, S, d)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from xstar.gp.paths import Paths, draw_paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, take_rows, to_numpy
from xstar.numerics.random import Random, common
from xstar.search import MixedSearch, Objective, cube, draw_grouped, inside_cube
from xstar.search.region import Region


@dataclass(frozen=True)
class Maximizers:
    """Sampled paths with their maxima on the cube."""

    paths: Paths
    x: Array
    value: Array
    """The path's value at its maximizer, shape (R, H, S)."""
    active: Array
    """At a bound, with the path's gradient pointing out of the cube; shape (R, H, S, d)."""
    outward: Array
    """1 at an upper bound, -1 at a lower one, for active coordinates; 0 for free ones. Shape (R, H, S, d)."""
    hessian: Array
    """The path's second derivatives at its maximizer, in lengthscale units; shape (R, H, S, d, d)."""
    converged: Array
    """Shape (R, H, S)."""
    stationary: Array
    """False where a restriction of the region holds the maximum back: the path may rise beyond. Shape (R, H, S)."""
    incumbents: tuple[Array, HostArray]
    """The best data, as `best_of_each` has them."""


def draw_maximizers(
    post: Posterior,
    num_samples: int,
    rng: Random,
    *,
    num_features: int = 512,
    kind: str = "exact",
    num_candidates: int = 1024,
    region: Region | None = None,
) -> Maximizers:
    """Maximize `num_samples` paths of each posterior; its leading axes are those of `Posterior.by_problem`."""
    post = post.by_problem()
    sets = _feature_sets(num_samples, int(post.batch_shape[-1]))
    paths = draw_paths(post, num_samples, rng, num_features=num_features, kind=kind, num_sets=sets)
    data = post.data.X[:, 0, ...]
    incumbents = best_of_each(post)
    candidates = draw_grouped(num_candidates, data, common(rng), around=incumbents[0])
    domain, restriction = region or Region(cube(paths.dimension))
    if domain.discrete.any():
        paths = replace(paths, curved=np.flatnonzero(~domain.discrete))
    objective: Objective = paths if restriction is None else restriction.restrict(paths)
    found = MixedSearch(domain).maximize(objective, *candidates)
    xp = namespace(found.x)
    shape = (*paths.batch_shape, paths.dimension)
    own = xp.reshape(found.x, (*paths.batch_shape, 1, paths.dimension))
    value, _, hessian = paths.derivatives(own)
    assert hessian is not None, "paths have second derivatives"
    free = np.ones(paths.num_problems, dtype=bool)
    if restriction is not None:
        free = ~restriction.binds(to_numpy(found.x))
    scale = post.hyper.lengthscales[:, :, None, :]
    scaled = hessian[..., 0, :, :] * scale[..., :, None] * scale[..., None, :]
    outward = xp.where(found.active, xp.sign(found.x - 0.5), 0.0)
    return Maximizers(
        paths=paths,
        x=xp.reshape(found.x, shape),
        value=xp.reshape(value, shape[:-1]),
        active=xp.reshape(found.active, shape),
        outward=xp.reshape(outward, shape),
        hessian=scaled,
        converged=xp.reshape(found.converged, shape[:-1]),
        stationary=xp.reshape(move(free, found.x), shape[:-1]),
        incumbents=incumbents,
    )


def _feature_sets(num_samples: int, num_hyper: int) -> int:
    """How many sets of features the paths of a hyperparameter sample share, so that all together have FEATURE_SETS."""
    least = min(num_samples, math.ceil(FEATURE_SETS / num_hyper))
    return next(sets for sets in range(least, num_samples + 1) if num_samples % sets == 0)


FEATURE_SETS = 10
"""Different sets of random features among all paths of a problem, at least."""
BEST_DATA = 3
"""How many of the best data are searched around, and are rivals of a sampled maximum."""


def best_data(post: Posterior) -> Array:
    """The few data points (k, d) of one problem in the cube with the largest mean, averaged over hyperparameters."""
    points, found = best_of_each(post)
    return points[0, : int(found[0].sum()), :]


def best_of_each(post: Posterior) -> tuple[Array, HostArray]:
    """The same for each of R problems, shape (R, k, d), and which of them there are, shape (R, k), the first ones."""
    post = post.by_problem()
    X = post.data.X[:, 0, ...]
    R, n, d = X.shape
    inside = inside_cube(X)
    mean = np.where(inside, to_numpy(post.predict_mean(post.data.X)).mean(axis=1), -np.inf)
    count = min(BEST_DATA, n)
    order = np.argsort(-mean, axis=1, kind="stable")[:, :count]
    xp = namespace(X)
    rows = take_rows(xp.reshape(X, (R * n, d)), (np.arange(R)[:, None] * n + order).ravel())
    return xp.reshape(rows, (R, count, d)), np.take_along_axis(inside, order, axis=1)
