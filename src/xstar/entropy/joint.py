"""What an optimum of several outputs says about each of them, and about the outputs at any other point.

At the points p of the optimum constraints hold; one that holds the optimum back is at its bound there. Of one objective
the optimum has what a maximum has (`entropy.constraints`), as far as no constraint holds it back. Nothing dominates p:
at any x

    not (f_j(x) > f_j(p) for every objective j, and c_k(x) >= b_k for every constraint k).

The outputs are independent, so with a_j = E u_j / sd u_j, u_j = f_j(x) - f_j(p) or c_k(x) - b_k, the event in
brackets has the probability Z = prod_j Phi(a_j), and without it u_j is a mixture of a truncated Gaussian and the
Gaussian itself. With w = Z / (1 - Z) and r = phi(a) / Phi(a), its variance is a share 1 - g of what it was,

    g = w r (w r - a),

which for a single output is the share that f(x) < f(p) takes off, the paper's C3.

Notation
    H, S    hyperparameter samples, draws of each       K    outputs, objectives first
    Q       points of a draw                            m    points x
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xstar.entropy.conditioned import Conditioned, ConditioningSettings, Entries, Prediction, condition
from xstar.entropy.constraints import Constraints, constrain
from xstar.entropy.functionals import Functionals, LinearFunctionals, Rotated, Slopes
from xstar.entropy.optima import Optima
from xstar.gp.outputs import Outputs
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, identity, move, namespace, to_numpy, zeros
from xstar.numerics.normal import log_ndtr, truncated_moments

CERTAIN = 30.0
"""a is not taken beyond: what is that sure is certain."""
TINY = float(np.finfo(np.float64).tiny)
LEAST_REMAINING = 1e-250
"""The probability that x does not dominate a point is not taken below this: one divides by it."""


class ConditionedOutput(NamedTuple):
    """An output given what is known of it at the points of sampled optima."""

    conditioned: Conditioned
    points: Entries
    """The output there, first entries of T."""
    bound: float | None
    """Of a constraint; None for an objective."""

    def first(self, paths: int) -> ConditionedOutput:
        """Return that of the first few draws of each hyperparameter sample."""
        return self._replace(
            conditioned=self.conditioned.first(paths),
            points=Entries(*(part[:, :, :paths, ...] for part in self.points)),
        )


class Excess(NamedTuple):
    """u of one output at points x, beside each point of the optimum, given all but that nothing dominates it.

    All of shape (1, H, S, Q, m).
    """

    a: Array
    contrast: Array
    """cov(f(x), u)."""
    spread: Array
    """var u."""
    floored: Array
    """Where the spread was kept from falling below the smallest."""


def condition_output(
    outputs: Outputs, number: int, optima: Optima, posterior: tuple[Posterior, Array], competitors: Array,
    smooth: HostArray, settings: ConditioningSettings, *, slopes: bool = True,
) -> ConditionedOutput:  # fmt: skip
    """Condition one output on the optima.

    Parameters
    ----------
    outputs : Outputs
        All of them.
    number : int
        Which: objectives, then constraints.
    optima : Optima
        Of all outputs.
    posterior : tuple of Posterior and array
        That of the output with pending points among its data, and K^{-1} of each draw's targets (1, H, 1 or S, n).
    competitors : array of shape (1, 1, k, d)
        Points that the optimum of a single objective must beat, where they are feasible.
    smooth : ndarray of int
        The coordinates along which there are derivatives.
    settings : ConditioningSettings
        Thresholds, and how EP iterates.
    slopes : bool
        Whether the gradients of all outputs balance at the optima.

    Returns
    -------
    ConditionedOutput
        What predictions at any x need.
    """
    post, alpha = posterior
    J = len(outputs.objectives)
    if number == 0 and J == 1:
        maximizers = optima.maximizers(outputs)
        functionals = Functionals(post.kernel, post.hyper, maximizers.x, competitors, smooth)
        constraints = constrain(maximizers, int(competitors.shape[-2]), along=smooth)
        constraints = _beating(constraints, _feasible_on_paths(outputs, optima, competitors))
        of_optimum: LinearFunctionals = functionals
        if slopes and len(smooth) and bool(namespace(optima.held).any(optima.held)):
            of_optimum, constraints = _held_back(post, outputs, optima, smooth, functionals, constraints)
        conditioned = condition(post, alpha, of_optimum, constraints, settings)
        return ConditionedOutput(conditioned, conditioned.of_entries(1), None)
    bound = None if number < J else outputs.bounds[number - J]
    if bound is not None:
        values, told = _without_slopes(post, optima), _holding(optima, number, number - J, bound)
    elif slopes and len(smooth):
        values, told = _on_front(post, number, outputs, optima, smooth)
    else:
        values, told = _without_slopes(post, optima), _nothing(optima)
    conditioned = condition(post, alpha, values, told, settings)
    return ConditionedOutput(conditioned, conditioned.of_entries(int(optima.x.shape[-2])), bound)


def _without_slopes(post: Posterior, optima: Optima) -> Slopes:
    """Values at the optima alone."""
    none = zeros((*optima.x.shape[:-1], 0, optima.x.shape[-1]), optima.x)
    return Slopes(post.kernel, post.hyper, optima.x, none)


class Balance(NamedTuple):
    """What a point where gradients balance says about the slopes of an objective, in lengthscale units.

    The gradients of the objectives, and of constraints that hold the point back, balance there: in the free
    coordinates they lie in a space of one dimension less than there are of them, that of the path's own. An objective
    has no slope across that space, and rises along the path's own gradient.
    """

    basis: HostArray
    """Directions as rows, those across the space last; shape (1, H, S, Q, e, e)."""
    level: HostArray
    """Along which of them there is no slope, shape (1, H, S, Q, e)."""
    rise: HostArray
    """The path's own direction in the basis, shape (1, H, S, Q, e)."""
    rising: HostArray
    """Where it is known that there is a slope, shape (1, H, S, Q)."""


def _balance(post: Posterior, number: int, outputs: Outputs, optima: Optima, along: HostArray) -> Balance:
    """The balance of gradients at the optima, for one objective, with directions in the coordinates `along`."""
    J = len(outputs.objectives)
    free = ~to_numpy(optima.active)[..., along]
    gradients = np.moveaxis(to_numpy(optima.gradients)[..., along], 0, -2) * free[..., None, :]
    held = to_numpy(optima.held)
    counted = np.concatenate([np.ones((*held.shape[:-1], J), dtype=bool), held], axis=-1)
    scale = to_numpy(post.hyper.lengthscales)[:, :, None, None, along]
    size = np.linalg.norm(gradients, axis=-1, keepdims=True)
    units = np.where(counted[..., None] & (size > 0.0), gradients / np.maximum(size, TINY), 0.0) * scale[..., None, :]
    basis = np.linalg.svd(units, full_matrices=True)[2]
    rank = np.minimum(counted.sum(axis=-1) - 1, free.sum(axis=-1))
    across = np.arange(len(along)) >= rank[..., None]
    # What the gradients do not reach is across the space, or along a face, where nothing is known.
    faces = np.linalg.norm(basis * ~free[..., None, :], axis=-1) > 0.5
    own = gradients[..., number, :] * scale
    length = np.linalg.norm(own, axis=-1)
    rise = np.matmul(basis, (own / np.maximum(length, TINY)[..., None])[..., None])[..., 0] * ~across
    stated = to_numpy(optima.present & optima.feasible[..., None])
    return Balance(basis, across & ~faces & stated[..., None], rise, stated & (length > 0.0))


def _on_front(
    post: Posterior, number: int, outputs: Outputs, optima: Optima, along: HostArray
) -> tuple[Slopes, Constraints]:
    """One of several objectives at the points of a Pareto set."""
    known = _balance(post, number, outputs, optima, along)
    *lead, Q, e = known.rise.shape
    length = Q * (1 + e)
    equal = np.concatenate([np.zeros((*lead, Q), dtype=bool), known.level.reshape(*lead, Q * e)], axis=-1)
    combination = np.zeros((*lead, Q, length))
    for i in range(Q):
        combination[..., i, Q + i * e : Q + (i + 1) * e] = known.rise[..., i, :]
    like, none = optima.x, np.zeros((*lead, Q))
    directions = np.zeros((*known.basis.shape[:-1], like.shape[-1]))
    directions[..., along] = known.basis
    return Slopes(post.kernel, post.hyper, optima.x, move(directions, like)), Constraints(
        move(equal, like), move(np.zeros((*lead, length)), like), move(combination, like), move(none, like),
        move(none, like), move(known.rising, like),
    )  # fmt: skip


def _held_back(
    post: Posterior, outputs: Outputs, optima: Optima, along: HostArray, functionals: Functionals,
    constraints: Constraints,
) -> tuple[Rotated, Constraints]:  # fmt: skip
    """A single objective where constraints hold its optimum back; elsewhere what was known of it."""
    known, e = _balance(post, 0, outputs, optima, along), len(along)
    like, held = optima.x, np.any(to_numpy(optima.held)[..., 0, :], axis=-1)
    rotation = np.where(held[..., None, None], known.basis[..., 0, :, :], np.eye(e))
    equal, combination, imposed = (
        to_numpy(part).copy() for part in (constraints.equal, constraints.combination, constraints.imposed)
    )
    equal[..., 1 : 1 + e] |= held[..., None] & known.level[..., 0, :]
    # The site of the first coordinate is free where the optimum is held back.
    combination[held, 1] = 0.0
    combination[held, 1, 1 : 1 + e] = known.rise[held, 0]
    imposed[held, 1] = known.rising[held, 0]
    return Rotated(functionals, move(rotation, like)), constraints._replace(
        equal=move(equal, like), combination=move(combination, like), imposed=move(imposed, like)
    )


def _beating(constraints: Constraints, feasible: Array) -> Constraints:
    """Constraints in which a competing point is beaten where it is feasible on the draw's paths (1, H, S, k)."""
    xp, k = namespace(feasible), feasible.shape[-1]
    imposed = constraints.imposed
    own = imposed[..., : imposed.shape[-1] - k]
    return constraints._replace(imposed=xp.concat([own, imposed[..., imposed.shape[-1] - k :] & feasible], axis=-1))


def _feasible_on_paths(outputs: Outputs, optima: Optima, points: Array) -> Array:
    """Whether points (1, 1, k, d) are feasible on each draw that is feasible anywhere, shape (1, H, S, k)."""
    xp = namespace(points)
    feasible = xp.broadcast_to(optima.feasible[..., None], (*optima.feasible.shape, points.shape[-2]))
    for paths, bound in zip(optima.paths[len(outputs.objectives) :], outputs.bounds, strict=True):
        feasible = feasible & (paths(points[0, 0, ...]) >= bound)
    return feasible


def _nothing(optima: Optima) -> Constraints:
    """No constraint on an output's values at the optima."""
    shape = tuple(optima.x.shape[:-1])
    none, no = zeros(shape, optima.x), zeros(shape, optima.x, boolean=True)
    unit = namespace(none).broadcast_to(identity(shape[-1], none), (*shape, shape[-1]))
    return Constraints(no, none, unit, none, none, no)


def _holding(optima: Optima, number: int, constraint: int, bound: float) -> Constraints:
    """What is known of a constraint at the optima: it holds, or is at its bound; or is violated, if it must be."""
    xp, free = namespace(optima.x), _nothing(optima)
    held = optima.held[..., constraint] & optima.present
    some = optima.feasible[..., None]
    violated = ~some & (optima.values[number, ...] < bound)
    sign = xp.where(violated, -1.0, 1.0)
    return Constraints(
        held,
        xp.where(held, bound, 0.0),
        sign[..., None] * free.combination,
        sign * bound,
        free.noise_variance,
        optima.present & ~held & (some | violated),
    )


def excess(output: ConditionedOutput, p: Prediction) -> Excess:
    """Return by how much an output at x exceeds its value at the points, or its bound."""
    xp = namespace(p.mean)
    scale = output.conditioned.post.hyper.variance[..., None, None, None]
    smallest = output.conditioned.settings.least_spread * scale
    V11 = xp.clip(p.variance - p.reduction, min=0.0)[..., None, :]
    mean = p.mean[..., None, :]
    if output.bound is not None:
        spread = xp.maximum(V11, smallest)
        a = (mean - output.bound) / xp.sqrt(spread)
        return Excess(xp.clip(a, -CERTAIN, CERTAIN), V11, spread, smallest > V11)
    V22 = output.points.variance[..., None]
    V12 = xp.matmul(output.points.toward, xp.linalg.matrix_transpose(p.q))
    floored = smallest > V11 + V22 - 2.0 * V12
    spread = xp.where(floored, smallest, V11 + V22 - 2.0 * V12)
    contrast = V11 - xp.where(floored, 0.5 * (V11 + V22 - smallest), V12)
    a = (mean - output.points.mean[..., None]) / xp.sqrt(spread)
    return Excess(xp.clip(a, -CERTAIN, CERTAIN), contrast, spread, floored)


class Undominated(NamedTuple):
    """The share of each output's var u that is taken off, and its derivatives; lists over outputs."""

    share: list[Array]
    """g >= 0, shape (1, H, S, Q, m)."""
    by_own: list[Array]
    """dg / da, with w held."""
    by_odds: list[Array]
    """dg / dw."""
    odds_by_own: list[Array]
    """dw / da."""


def undominated(each: list[Array], counts: list[Array]) -> Undominated:
    """Impose that nothing at x dominates the points.

    Parameters
    ----------
    each : list of array of shape (1, H, S, Q, m)
        a of every output.
    counts : list of array of bool, shape (1, H, S, Q, 1)
        Whether the output has a part in the event: objectives have none in draws on which nothing is feasible.
    """
    xp = namespace(each[0])
    log_all, some = xp.zeros_like(each[0]), counts[0]
    for a, counted in zip(each, counts, strict=True):
        log_all = log_all + xp.where(counted, log_ndtr(a), 0.0)
        some = some | counted
    # Draws that an output has no part in, and points that are not there, have nothing to say.
    all_above = xp.where(some, xp.exp(log_all), 0.0)
    odds = all_above / xp.maximum(xp.where(some, -xp.expm1(log_all), 1.0), LEAST_REMAINING)
    found = Undominated([], [], [], [])
    for a, counted in zip(each, counts, strict=True):
        moments = truncated_moments(a)
        r, excess_of_a = (xp.where(counted, part, 0.0) for part in (moments.mean, moments.excess))
        over = odds * r
        share = over * (over - a)
        used = counted & (share > 0.0) & (share < 1.0)
        found.share.append(xp.where(counted, xp.clip(share, min=0.0, max=1.0), 0.0))
        found.by_own.append(xp.where(used, -over * (excess_of_a * (2.0 * over - a) + 1.0), 0.0))
        found.by_odds.append(xp.where(used, r * (2.0 * over - a), 0.0))
        found.odds_by_own.append(xp.where(counted & (xp.abs(a) < CERTAIN), (1.0 + odds) * over, 0.0))
    return found
