"""Draws from p(x_star | D): the maximizers of posterior sample paths [HHG14, section 2.1].

Notation
    R    problems, each with its own data
    H    hyperparameter samples          S    paths of each
    x    sampled maximizers x_star       (R, H, S, d)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from xstar.gp.paths import Paths, draw_paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, take_rows, to_numpy
from xstar.numerics.checks import instance, integer
from xstar.numerics.random import Random, common
from xstar.search import MixedSearch, Objective, Region, SearchSettings, cube, draw_grouped, inside_cube


@dataclass(frozen=True)
class MaximizerSettings:
    """How sample paths are maximized (`python -m benchmarks.search` counts the maxima that are missed).

    Parameters
    ----------
    num_candidates : int
        Points of the design that the search begins from.
    min_feature_sets : int
        Different sets of random features among all paths of a problem, at least: paths that share one cost less, and
        have its small error in common (`python -m benchmarks.accuracy`).
    num_incumbents : int
        How many of the best data are searched around, and are competing points of a sampled maximum.
    search : SearchSettings
        Everything else about the search.
    """

    num_candidates: int = 1024
    min_feature_sets: int = 10
    num_incumbents: int = 3
    search: SearchSettings = field(default_factory=SearchSettings)

    def __post_init__(self) -> None:
        for name in ("num_candidates", "min_feature_sets", "num_incumbents"):
            integer(getattr(self, name), name, 1)
        instance(self.search, "search", SearchSettings, "SearchSettings()")


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
    """The best data, as `best_of_each` returns them."""


def draw_maximizers(
    post: Posterior,
    num_samples: int,
    rng: Random,
    *,
    num_features: int = 512,
    kind: str = "exact",
    region: Region | None = None,
    settings: MaximizerSettings | None = None,
) -> Maximizers:
    """Draw maximizers of the function from their posterior.

    Parameters
    ----------
    post : Posterior
        Of one problem, or of R; its leading axes are those of `Posterior.by_problem`.
    num_samples : int
        S, paths of each hyperparameter sample.
    rng : numpy.random.Generator
        For R problems, R of them.
    num_features : int
        Random features of a path.
    kind : str
        "exact" or "weights", as in `draw_paths`.
    region : Region, optional
        Where the maximum is looked for; by default the whole cube.
    settings : MaximizerSettings, optional
        How it is looked for.

    Returns
    -------
    Maximizers
        The paths with their maxima.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.entropy import draw_maximizers
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> draw_maximizers(post, 4, np.random.default_rng(0)).x.shape
    (1, 1, 4, 1)
    """
    settings = settings or MaximizerSettings()
    post = post.by_problem()
    sets = feature_sets(num_samples, int(post.batch_shape[-1]), settings.min_feature_sets)
    paths = draw_paths(post, num_samples, rng, num_features=num_features, kind=kind, num_sets=sets)
    data = post.data.X[:, 0, ...]
    incumbents = best_of_each(post, settings.num_incumbents)
    candidates = draw_grouped(
        settings.num_candidates, data, common(rng), around=incumbents[0], settings=settings.search
    )
    domain, restriction = region or Region(cube(paths.dimension))
    if domain.discrete.any():
        paths = replace(paths, curved=np.flatnonzero(~domain.discrete))
    objective: Objective = paths if restriction is None else restriction.restrict(paths)
    found = MixedSearch(domain, settings=settings.search).maximize(objective, *candidates)
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


def feature_sets(num_samples: int, num_hyper: int, total: int) -> int:
    """Return how many sets of features the paths of a hyperparameter sample share, for `total` of all together."""
    least = min(num_samples, math.ceil(total / num_hyper))
    return next(sets for sets in range(least, num_samples + 1) if num_samples % sets == 0)


def best_of_each(post: Posterior, count: int = MaximizerSettings.num_incumbents) -> tuple[Array, HostArray]:
    """Return the incumbents of each of R problems: the data in the cube with the largest mean over hyperparameters.

    At most `count`, shape (R, k, d), and which of them there are, shape (R, k), the first ones.
    """
    post = post.by_problem()
    X = post.data.X[:, 0, ...]
    R, n, d = X.shape
    inside = inside_cube(X)
    mean = np.where(inside, to_numpy(post.predict_mean(post.data.X)).mean(axis=1), -np.inf)
    count = min(count, n)
    order = np.argsort(-mean, axis=1, kind="stable")[:, :count]
    xp = namespace(X)
    rows = take_rows(xp.reshape(X, (R * n, d)), (np.arange(R)[:, None] * n + order).ravel())
    return xp.reshape(rows, (R, count, d)), np.take_along_axis(inside, order, axis=1)
