"""Draws from p(x_star | D): the maximizers of posterior sample paths [HHG14, section 2.1].

Notation
    H    hyperparameter samples          S    paths of each
    x    sampled maximizers x_star       (H, S, d)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from xstar.entropy.success import Restricted, Success
from xstar.gp.paths import Paths, draw_paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, move, namespace, take_rows, to_numpy
from xstar.search import Domain, MixedSearch, Objective, cube, draw_candidates, inside_cube


class Region(NamedTuple):
    """Where the maximum may be."""

    domain: Domain
    success: Success | None = None


@dataclass(frozen=True)
class Maximizers:
    """Sampled paths with their maxima on the cube."""

    paths: Paths
    x: Array
    value: Array
    """The path's value at its maximizer, shape (H, S)."""
    active: Array
    """At a bound, with the path's gradient pointing out of the cube; shape (H, S, d)."""
    outward: Array
    """1 at an upper bound, -1 at a lower one, for active coordinates; 0 for free ones. Shape (H, S, d)."""
    hessian: Array
    """The path's second derivatives at its maximizer, in lengthscale units; shape (H, S, d, d)."""
    converged: Array
    """Shape (H, S)."""
    stationary: Array
    """False where the maximum is held back by the chance of success: the path may rise beyond. Shape (H, S)."""


def draw_maximizers(
    post: Posterior,
    num_samples: int,
    rng: np.random.Generator,
    *,
    num_features: int = 512,
    kind: str = "exact",
    num_candidates: int = 1024,
    region: Region | None = None,
) -> Maximizers:
    """Maximize `num_samples` paths of each of H posteriors (leading axis H) that share their data."""
    paths = draw_paths(post, num_samples, rng, num_features=num_features, kind=kind)
    candidates = draw_candidates(num_candidates, post.data.X, rng, around=best_data(post))
    domain, success = region or Region(cube(paths.dimension))
    if domain.discrete.any():
        paths = replace(paths, curved=np.flatnonzero(~domain.discrete))
    objective: Objective = paths if success is None else Restricted(paths, success)
    found = MixedSearch(domain).maximize(objective, candidates)
    xp = namespace(found.x)
    shape = (*paths.batch_shape, paths.dimension)
    own = xp.reshape(found.x, (*paths.batch_shape, 1, paths.dimension))
    value, _, hessian = paths.derivatives(own)
    hessian = xp.reshape(hessian, (paths.num_problems, paths.dimension, paths.dimension))
    free = np.ones(paths.num_problems, dtype=bool)
    if success is not None:
        free = success.log_probability(to_numpy(found.x)) > success.floor + NOT_AT_THE_BORDER
    scale = paths.hyper.lengthscales
    scaled = hessian * scale[:, :, None] * scale[:, None, :]
    outward = xp.where(found.active, xp.sign(found.x - 0.5), 0.0)
    return Maximizers(
        paths=paths,
        x=xp.reshape(found.x, shape),
        value=xp.reshape(value, shape[:-1]),
        active=xp.reshape(found.active, shape),
        outward=xp.reshape(outward, shape),
        hessian=xp.reshape(scaled, (*shape, shape[-1])),
        converged=xp.reshape(found.converged, shape[:-1]),
        stationary=xp.reshape(move(free, found.x), shape[:-1]),
    )


NOT_AT_THE_BORDER = 1e-3
"""A log chance of success above the floor by this much does not hold a maximum back."""
BEST_DATA = 3
"""How many of the best data are searched around, and are rivals of a sampled maximum."""


def best_data(post: Posterior) -> Array:
    """The few data points in the cube with the largest posterior mean, averaged over hyperparameters."""
    inside = np.flatnonzero(inside_cube(post.data.X))
    if len(inside) == 0:
        return post.data.X[:0, :]
    points = take_rows(post.data.X, inside)
    mean = to_numpy(post.predict(points)[0]).reshape(-1, len(inside)).mean(axis=0)
    return take_rows(points, np.argsort(-mean, kind="stable")[:BEST_DATA])
