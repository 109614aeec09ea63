"""Draws of the optimum of several outputs: of each draw a path of every output, and the points P that are best on it.

One objective        P is the best feasible point
several              P is a handful of points of the feasible Pareto set, far from each other
nothing feasible     P is the point that violates the constraints least

Notation
    H, S    hyperparameter samples, draws of each               J, C    objectives, constraints; K = J + C outputs
    Q       points of a draw, at most                           N       points of the design
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from xstar.entropy.maximizers import Maximizers, MaximizerSettings, feature_sets
from xstar.gp.outputs import Outputs
from xstar.gp.paths import Paths, draw_paths
from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy
from xstar.numerics.normal import log_ndtr
from xstar.numerics.pareto import hypervolume, nondominated, spread_out
from xstar.numerics.random import Random, common
from xstar.search import (
    MixedSearch,
    Region,
    Scalarized,
    Screened,
    cube,
    draw_grouped,
    inside_cube,
    maximize_scalarized,
)
from xstar.search.box import distinct

FEASIBLE = 1e-3
"""A sampled optimum may violate a constraint by this share of the constraint's prior standard deviation: rounding, and
what a search leaves."""
HELD = 1e-6
"""A constraint holds an optimum back if its multiplier is above this."""
LEAST_SD = 1e-10
"""A predicted standard deviation is not taken below this share of the amplitude."""
LEAST_LOG_DENSITY = -1.0
"""Points that a restriction makes less likely than this are on nobody's front."""
LEAST_RANGE = 1e-3
"""Nor is an objective's range on a front taken below this share of its range on the design."""
FEW_STARTS = 3
"""Local searches for each of several points of a Pareto set: each begins on the front of the design."""


@dataclass(frozen=True)
class Optima:
    """Sampled paths of all outputs with their optima."""

    paths: tuple[Paths, ...]
    """Of the objectives, then of the constraints; batch shape (1, H, S) each."""
    x: Array
    """Shape (1, H, S, Q, d); where a draw has fewer points, the first one stands in."""
    present: Array
    """Which points there are, shape (1, H, S, Q)."""
    values: Array
    """The paths' values there, shape (K, 1, H, S, Q)."""
    gradients: Array
    """And gradients, in units of the cube, shape (K, 1, H, S, Q, d)."""
    active: Array
    """At a bound of the cube, with a gradient that points out of it; shape (1, H, S, Q, d)."""
    feasible: Array
    """Whether something is feasible on the draw's paths, shape (1, H, S)."""
    held: Array
    """Which constraints hold a point back, shape (1, H, S, Q, C)."""
    hessian: Array | None
    """Of a single objective's path, at its optimum and in units of the cube; shape (1, H, S, d, d)."""
    converged: Array
    """Shape (1, H, S, Q)."""
    incumbents: tuple[Array, HostArray]
    """The best data (1, k, d), and which of them there are (1, k)."""
    front: tuple[HostArray, ...]
    """Values (n, J) of each draw's objectives on the front of all points that were looked at, H S of them."""

    def maximizers(self, outputs: Outputs) -> Maximizers:
        """Return the optima of one objective, as those of a function whose maxima constraints may hold back."""
        x, active = self.x[..., 0, :], self.active[..., 0, :]
        assert self.hessian is not None, "of a single objective"
        scale = outputs.objectives[0].hyper.lengthscales[:, :, None, :]
        return Maximizers(
            paths=self.paths[0],
            x=x,
            value=self.values[0, ..., 0],
            active=active,
            outward=namespace(x).where(active, namespace(x).sign(x - 0.5), 0.0),
            hessian=self.hessian * scale[..., :, None] * scale[..., None, :],
            converged=self.converged[..., 0],
            stationary=self.feasible & ~namespace(x).any(self.held[..., 0, :], axis=-1),
            incumbents=self.incumbents,
        )

    def volumes(self, reference: HostArray) -> HostArray:
        """Return the hypervolume of each draw above a reference (J,), shape (H S,)."""
        return np.array([hypervolume(front, reference) for front in self.front])


def draw_optima(
    outputs: Outputs, num_samples: int, rng: Random, *, num_points: int = 3, num_features: int = 512,
    region: Region | None = None, settings: MaximizerSettings | None = None,
) -> Optima:  # fmt: skip
    """Draw optima of several outputs from their posterior.

    Parameters
    ----------
    outputs : Outputs
        The posteriors.
    num_samples : int
        S, draws of each hyperparameter sample.
    rng : numpy.random.Generator
        Of paths and candidates.
    num_points : int
        Q, of each draw, if there are several objectives.
    num_features : int
        Random features of a path.
    region : Region, optional
        Where the optimum is looked for; by default the whole cube.
    settings : MaximizerSettings, optional
        How it is looked for.

    Returns
    -------
    Optima
        The paths with their optima.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.entropy import draw_optima
    >>> from xstar.gp import Hyperparameters, Outputs, Posterior, SquaredExponential
    >>> hyper, X = Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]]
    >>> value, cost = (Posterior(SquaredExponential(), hyper, X, y) for y in ([0.0, 1.0], [1.0, 0.0]))
    >>> draw_optima(Outputs((value, cost)), 4, np.random.default_rng(0)).x.shape
    (1, 1, 4, 3, 1)
    """
    settings = settings or MaximizerSettings()
    region = region or Region(cube(outputs.dimension))
    paths = _draw_paths(outputs, num_samples, rng, num_features, region, settings)
    like, J = outputs.objectives[0].data.X, len(outputs.objectives)
    points, incumbents = _design(outputs, region, rng, settings)
    screened = Screened(points, tuple(path.screen(points) for path in paths))
    values = np.stack([to_numpy(part) for part in screened.values[:J]], axis=-1)
    allowed = _of_interest(values, _allowed(screened, outputs, region), outputs)
    fronts = [np.flatnonzero(legal)[nondominated(own[legal])] for own, legal in zip(values, allowed, strict=True)]
    chosen, present = _spread(values, fronts, 1 if J == 1 else num_points)
    functions = Scalarized(paths[:J], paths[J:], outputs.bounds, screened=screened)
    if J > 1:
        reference, unit = np.take_along_axis(values, chosen[..., None], axis=1), _ranges(values, fronts)
        functions = replace(functions, reference=move(reference, like), unit=move(unit[:, None], like))
    found, multipliers = maximize_scalarized(
        functions, region, move(points, like), settings.search, None if J == 1 else FEW_STARTS
    )
    P, Q = chosen.shape
    feasible = _feasible(to_numpy(functions.slack(found.x)).reshape(P, Q, -1), outputs, num_samples) & present
    x, lost = to_numpy(found.x).reshape(P, Q, -1), np.flatnonzero(~feasible[:, 0])
    present = feasible | (np.arange(Q) == 0)
    if lost.size:
        x = x.copy()
        x[lost] = _least_violating(paths[J:], outputs.bounds, lost, region, move(points, like), settings)[:, None]
        present[lost] = np.arange(Q) == 0
    shape = paths[0].batch_shape
    at = move(np.where(present[..., None], x, x[:, :1]).reshape(*shape, Q, -1), like)
    there = [path.derivatives(at) for path in paths]
    xp = namespace(at)
    reached = xp.stack([part.value for part in there])
    own = np.moveaxis(to_numpy(reached)[:J].reshape(J, P, Q), 0, -1)
    held = (to_numpy(multipliers).reshape(P, Q, -1) > HELD) & feasible[..., None]
    return Optima(
        paths=paths,
        x=at,
        present=move(present.reshape(*shape, Q), at),
        values=reached,
        gradients=xp.stack([part.gradient for part in there]),
        active=xp.reshape(found.active, tuple(at.shape)),
        feasible=move(feasible[:, 0].reshape(shape), at),
        held=move(held.reshape(*shape, Q, -1), at),
        hessian=there[0].hessian[..., 0, :, :] if J == 1 and there[0].hessian is not None else None,
        converged=xp.reshape(found.converged, (*shape, Q)),
        incumbents=incumbents,
        front=tuple(np.concatenate([values[i, fronts[i]], own[i, feasible[i]]]) for i in range(P)),
    )


def _draw_paths(
    outputs: Outputs, num_samples: int, rng: Random, num_features: int, region: Region, settings: MaximizerSettings
) -> tuple[Paths, ...]:
    sets = feature_sets(num_samples, outputs.num_hyper, settings.min_feature_sets)
    drawn = (
        draw_paths(post, num_samples, rng, num_features=num_features, num_sets=sets) for post in outputs.posteriors
    )
    discrete = region.domain.discrete
    return tuple(replace(paths, curved=np.flatnonzero(~discrete)) if discrete.any() else paths for paths in drawn)


def _design(
    outputs: Outputs, region: Region, rng: Random, settings: MaximizerSettings
) -> tuple[HostArray, tuple[Array, HostArray]]:
    """Legal points (N, d) all over the domain, at the data and about the best of them; and these."""
    incumbents = best_feasible(outputs, settings.num_incumbents)
    data = namespace(incumbents[0]).concat([post.data.X[:, 0, ...] for post in outputs.posteriors], axis=1)
    design, own = draw_grouped(
        settings.num_candidates, data, common(rng), around=incumbents[0], settings=settings.search
    )
    points = np.concatenate([to_numpy(design), to_numpy(own)[0]])
    return distinct(np.clip(points, 0.0, 1.0) if region.domain.continuous else region.domain.snap(points)), incumbents


def best_feasible(outputs: Outputs, count: int) -> tuple[Array, HostArray]:
    """Return the best data (1, k, d) that are likely to be feasible, and which of them there are (1, k).

    Of one objective, those with the largest posterior mean; of several, those on the front of the posterior means that
    are far from each other. If none is likely to be feasible, those that are most so.
    """
    X = outputs.objectives[0].data.X[:, 0, ...]
    inside = inside_cube(X)[0]
    rows = np.flatnonzero(inside)
    if not rows.size:
        return X[:, :0, :], np.zeros((1, 0), dtype=bool)
    means = np.stack([to_numpy(post.predict_mean(X[:, None, ...]))[0].mean(axis=0) for post in outputs.objectives], -1)
    sure = log_feasibility(outputs, to_numpy(X)[0]).mean(axis=0)
    likely = rows[sure[rows] >= math.log(0.5)]
    if not likely.size:
        picked = rows[np.argsort(-sure[rows], kind="stable")[:count]]
    elif means.shape[1] == 1:
        picked = likely[np.argsort(-means[likely, 0], kind="stable")[:count]]
    else:
        front = likely[nondominated(means[likely])]
        picked = front[spread_out(means[front], count, 0)]
    chosen = move(to_numpy(X)[:, picked], X)
    return chosen, np.ones((1, len(picked)), dtype=bool)


def log_feasibility(outputs: Outputs, rows: HostArray) -> HostArray:
    """Return log P(all constraints hold) at points (m, d), for each hyperparameter sample (H, m)."""
    total = np.zeros((outputs.num_hyper, len(rows)))
    for post, bound in zip(outputs.constraints, outputs.bounds, strict=True):
        mean, variance = (to_numpy(part)[0] for part in post.predict(rows))
        least = (LEAST_SD * to_numpy(post.hyper.amplitude)[0][:, None]) ** 2
        total += log_ndtr((mean - bound) / np.sqrt(np.maximum(variance, least)))
    return total


def _allowed(screened: Screened, outputs: Outputs, region: Region) -> HostArray:
    """Where, on each path, a point of the design is feasible; shape (P, N)."""
    J = len(outputs.objectives)
    allowed = np.ones(screened.values[0].shape, dtype=bool)
    for part, bound in zip(screened.values[J:], outputs.bounds, strict=True):
        allowed &= to_numpy(part) >= bound
    if region.restriction is not None:
        allowed &= region.restriction.penalty(screened.points) > LEAST_LOG_DENSITY
    return allowed


def _of_interest(values: HostArray, allowed: HostArray, outputs: Outputs) -> HostArray:
    """Those of the allowed points of each path (P, N) that are above the reference, where there are such."""
    if outputs.reference is None:
        return allowed
    above = allowed & np.all(values >= np.array(outputs.reference), axis=-1)
    return np.where(above.any(axis=-1, keepdims=True), above, allowed)


def _spread(values: HostArray, fronts: Sequence[HostArray], count: int) -> tuple[HostArray, HostArray]:
    """Positions (P, Q) in the design of points of each front, far from each other, and which of them there are.

    The first is the best in the first objective, the second in another, if there are several.
    """
    chosen, present = np.zeros((len(fronts), count), dtype=np.int64), np.zeros((len(fronts), count), dtype=bool)
    for i, front in enumerate(fronts):
        present[i, 0] = True
        if not len(front):
            continue
        own = values[i, front]
        picked = front[spread_out(own, count, int(np.argmax(own[:, 0])))]
        chosen[i] = picked[0]
        chosen[i, : len(picked)], present[i, : len(picked)] = picked, True
    return chosen, present


def _ranges(values: HostArray, fronts: Sequence[HostArray]) -> HostArray:
    """The ranges (P, J) of each path's objectives on its front; where there is none, on the design."""
    found = np.ptp(values, axis=1)
    least = LEAST_RANGE * found
    for i, front in enumerate(fronts):
        if len(front) > 1:
            found[i] = np.ptp(values[i, front], axis=0)
    return np.asarray(np.maximum(np.maximum(found, least), np.finfo(np.float64).tiny))


def _feasible(slack: HostArray, outputs: Outputs, num_samples: int) -> HostArray:
    """Whether all constraints hold at each point, shape (P, Q), by their slack (P, Q, C)."""
    amplitudes = [to_numpy(post.hyper.amplitude)[0] for post in outputs.constraints]
    feasible = np.ones(slack.shape[:2], dtype=bool)
    for k, amplitude in enumerate(amplitudes):
        feasible &= slack[..., k] >= -FEASIBLE * np.repeat(amplitude, num_samples)[:, None]
    return feasible


def _least_violating(
    constraints: tuple[Paths, ...], bounds: tuple[float, ...], lost: HostArray, region: Region, points: Array,
    settings: MaximizerSettings,
) -> HostArray:  # fmt: skip
    """The points (P', d) at which some draws' constraints lack least."""
    own = tuple(paths.take(lost) for paths in constraints)
    found = MixedSearch(region.domain, settings=settings.search).maximize(Scalarized((), own, bounds), points)
    return to_numpy(found.x)
