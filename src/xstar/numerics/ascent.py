"""Local maximization in a box, of many functions at once and each from many starts.

One trust-region iteration serves both methods: projected Newton, when the function supplies its Hessian,
and projected quasi-Newton, when it does not and BFGS updates stand in. Every iteration costs one
evaluation per running start. Starts that have finished leave the batch.

The step maximizes the quadratic model g.p - p.A p / 2 (A = minus the Hessian) approximately:

1. Coordinates at a bound with the gradient pointing out are held.
2. Newton on the others, with A made positive definite where it is not (so a saddle is left, not approached), cut to
   the radius; coordinates that then run into the box are held there and the rest is solved once more.
3. The projected gradient step of optimal length, which guarantees progress where 2. does badly.
   The better of both, by the model, is taken.

Notation
    P    problems (functions)             q    starts of one problem
    d    coordinates                      N    rows = running (problem, start) pairs
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from xstar.numerics.arrays import (
    Array,
    HostArray,
    device,
    identity,
    move,
    namespace,
    scatter_rows,
    take_rows,
    to_numpy,
    zeros,
)
from xstar.numerics.linalg import solve_positive

SHORTEST_RADIUS = 1e-10
"""A trust region below this size means that rounding, not curvature, decides: the start is finished."""
REPACK_BELOW = 0.75
"""Finished rows are dropped from the batch when the rest would be smaller than this share of it."""


class Evaluation(NamedTuple):
    """A function at points (P, q, d)."""

    value: Array
    """Shape (P, q)."""
    gradient: Array
    """Shape (P, q, d)."""
    hessian: Array | None = None
    """Shape (P, q, d, d), or None: then a quasi-Newton matrix takes its place."""


BatchFunction: TypeAlias = Callable[[Array, HostArray], Evaluation]
"""function(x (P', q', d), problems (P',)) -> Evaluation, for any subset of the problems."""


class Ascent(NamedTuple):
    """Where each start ended."""

    x: Array
    """Shape (P, q, d)."""
    value: Array
    """Shape (P, q)."""
    gradient: Array
    """Shape (P, q, d)."""
    active: Array
    """Shape (P, q, d): at a bound, with the gradient pointing out of the box."""
    converged: Array
    """Shape (P, q): the last full step was shorter than the tolerance, or its gain below the rounding of the value."""
    iterations: Array
    """Shape (P, q)."""
    curvature: Array
    """Minus the Hessian, or what has been learned of it; shape (P, q, d, d)."""


Cull: TypeAlias = Callable[[Array, Array], HostArray]
"""cull(x (P, q, d), value (P, q)) -> mask (P, q) of the starts worth going on with."""


class _State(NamedTuple):
    """Everything that belongs to one row; each field has leading axis N."""

    x: Array
    value: Array
    gradient: Array
    curvature: Array
    radius: Array
    converged: Array
    running: Array
    iterations: Array
    rounding: Array


def ascend(
    function: BatchFunction,
    starts: Array,
    lower: Array,
    upper: Array,
    *,
    radius: float = 0.2,
    tolerance: float = 1e-7,
    max_iterations: int = 100,
    curvature: Array | None = None,
    rounding: Array | None = None,
    cull: Cull | None = None,
    cull_after: int = 4,
    max_unfinished: float = 0.005,
) -> Ascent:
    """Climb from starts (P, q, d) to local maxima in the box [lower, upper], both (d,).

    `radius` is the first and `tolerance` the last step size, in units of x. `curvature` (P, q, d, d), if known from an
    earlier search, is where quasi-Newton begins. `rounding` (P,) is how much of a function's value may be rounding, if
    that is more than what sums of numbers of its size have. After `cull_after` iterations `cull`, if given, says which
    starts go on; the others stay where they are, not converged. A share of `max_unfinished` of the starts may be left
    unfinished at the end: of hundreds, all others would wait for them.
    """
    xp = namespace(starts)
    problems, width, d = starts.shape
    x = xp.clip(starts, lower, upper)
    here = function(x, np.arange(problems))
    state = _first_state(x, here, lower, upper, radius, curvature)
    if rounding is not None:
        state = state._replace(rounding=xp.reshape(xp.broadcast_to(rounding[:, None], (problems, width)), (-1,)))
    everything = state
    rows, alive = np.arange(problems * width), problems
    for iteration in range(max_iterations):
        if cull is not None and iteration == cull_after:
            everything = _merge(everything, rows, state)
            worth = cull(xp.reshape(everything.x, starts.shape), xp.reshape(everything.value, (problems, width)))
            state = state._replace(running=state.running & move(worth.ravel()[rows], starts))
        running = to_numpy(state.running)
        if np.count_nonzero(running) <= max_unfinished * problems * width:
            break
        packed = _packing(running.reshape(alive, -1))
        if packed.size < REPACK_BELOW * rows.size:
            everything = _merge(everything, rows, state)
            rows, alive, state = (
                rows[packed.ravel()],
                len(packed),
                _State(*(take_rows(f, packed.ravel()) for f in state)),
            )
        trial_x, gain, full_step = _propose(state, lower, upper)
        owners = rows.reshape(alive, -1)[:, 0] // width
        there = function(xp.reshape(trial_x, (alive, rows.size // alive, d)), owners)
        state = _advance(state, _flat(there), trial_x, gain, full_step, lower, upper, tolerance)
    everything = _merge(everything, rows, state)
    active = _held(everything.x, everything.gradient, lower, upper)
    return Ascent(*(xp.reshape(field, (problems, width, *field.shape[1:])) for field in (
        everything.x, everything.value, everything.gradient, active, everything.converged, everything.iterations,
        everything.curvature,
    )))  # fmt: skip


def _flat(e: Evaluation) -> Evaluation:
    """Problems and starts as one axis of rows."""
    xp = namespace(e.value)
    d = e.gradient.shape[-1]
    hessian = None if e.hessian is None else xp.reshape(e.hessian, (-1, d, d))
    return Evaluation(xp.reshape(e.value, (-1,)), xp.reshape(e.gradient, (-1, d)), hessian)


def _first_state(x: Array, here: Evaluation, lower: Array, upper: Array, radius: float, known: Array | None) -> _State:
    xp = namespace(x)
    d = x.shape[-1]
    x, here = xp.reshape(x, (-1, d)), _flat(here)
    n = x.shape[0]
    if here.hessian is None and known is not None:
        curvature = xp.reshape(known, (n, d, d))
    elif here.hessian is None:
        # As if the unconstrained maximum were one radius away along the gradient.
        free = xp.where(_held(x, here.gradient, lower, upper), 0.0, here.gradient)
        steepness = xp.linalg.vector_norm(free, axis=-1) / radius
        curvature = _positive(steepness)[:, None, None] * identity(d, x)
    else:
        curvature = -here.hessian
    return _State(
        x, here.value, here.gradient, curvature,
        radius=xp.full((n,), radius, dtype=x.dtype, device=device(x)),
        converged=zeros((n,), x, boolean=True),
        running=_finite(here),
        iterations=xp.zeros((n,), dtype=xp.int64, device=device(x)),
        rounding=zeros((n,), x),
    )  # fmt: skip


def _finite(e: Evaluation) -> Array:
    xp = namespace(e.value)
    finite = xp.isfinite(e.value) & xp.all(xp.isfinite(e.gradient), axis=-1)
    if e.hessian is not None:
        finite = finite & xp.all(xp.isfinite(e.hessian), axis=(-2, -1))
    return finite


def _held(x: Array, gradient: Array, lower: Array, upper: Array) -> Array:
    return ((x <= lower) & (gradient <= 0.0)) | ((x >= upper) & (gradient >= 0.0))


def _propose(state: _State, lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """The next point, the gain that the model expects of it, and the length of the step without a radius."""
    xp = namespace(state.x)
    x, radius = state.x, state.radius[:, None]
    # A row that has finished may sit where the function is not finite; it is computed along and ignored.
    running = state.running[:, None]
    g = xp.where(running, state.gradient, 0.0)
    a = xp.where(running[..., None], state.curvature, identity(x.shape[-1], x))
    free = ~_held(x, g, lower, upper)
    g = xp.where(free, g, 0.0)
    diameter = xp.linalg.vector_norm(upper - lower)

    least = xp.linalg.vector_norm(g, axis=-1) / diameter
    unlimited = solve_positive(_masked(a, free), g, least)
    newton = xp.clip(x + unlimited * _shrinkage(unlimited, radius), lower, upper) - x
    hit = free & _on_face(x + newton, lower, upper)
    if bool(xp.any(hit)):
        stopped, rest = xp.where(hit, newton, 0.0), free & ~hit
        remaining = xp.where(rest, g - _times(a, stopped), 0.0)
        second = stopped + solve_positive(_masked(a, rest), remaining, least)
        second = xp.clip(x + second * _shrinkage(second, radius), lower, upper) - x
        newton = _better(g, a, newton, second)

    steepness = xp.linalg.vecdot(g, g)[:, None]
    bend = xp.linalg.vecdot(g, _times(a, g))[:, None]
    longest = radius / _positive(xp.sqrt(steepness))
    length = xp.where(bend > 0.0, steepness / _positive(xp.abs(bend)), longest)
    cauchy = xp.clip(x + xp.minimum(length, longest) * g, lower, upper) - x

    step = _better(g, a, newton, cauchy)
    # Newton alone may be stopped by the box where the projected gradient still leads on; at a maximum both vanish.
    full_step = xp.maximum(
        xp.max(xp.abs(xp.clip(x + unlimited, lower, upper) - x), axis=-1),
        xp.max(xp.abs(xp.clip(x + length * g, lower, upper) - x), axis=-1),
    )
    return x + step, _gain(g, a, step), full_step


def _advance(
    state: _State,
    there: Evaluation,
    trial_x: Array,
    expected: Array,
    full_step: Array,
    lower: Array,
    upper: Array,
    tolerance: float,
) -> _State:
    """Accept or refuse the step, adapt the radius, notice who has finished."""
    xp = namespace(state.x)
    step = trial_x - state.x
    length = xp.linalg.vector_norm(step, axis=-1)
    finite = _finite(there)
    actual = xp.where(finite, there.value - state.value, -math.inf)
    # Close to the maximum the gain drowns in the rounding of the value; there the gradient decides.
    rounding = 1e-13 * (xp.abs(state.value) + xp.abs(there.value))
    rounding = xp.maximum(rounding, state.rounding)
    flat = xp.abs(actual) <= rounding
    calmer = _slope(trial_x, there.gradient, lower, upper) <= _slope(state.x, state.gradient, lower, upper)
    accepted = finite & ((actual > rounding) | (flat & calmer)) & state.running

    promised = _positive(expected)  # compared by products: a gain of 1 where 1e-300 was expected has no ratio
    poor = ~flat & ~(actual >= 0.25 * promised)
    good = flat | (actual >= 0.75 * promised)
    radius = xp.where(poor, 0.25 * length, state.radius)
    radius = xp.where(good & (length >= 0.8 * state.radius), 2.0 * state.radius, radius)
    radius = xp.where(flat & ~calmer, 0.25 * length, radius)

    settled = (full_step <= tolerance) & (accepted | flat | (length == 0.0))
    if there.hessian is None:
        # A quasi-Newton matrix far too steep makes steps short anywhere; the curvature just seen tells.
        change = xp.linalg.vector_norm(state.gradient - there.gradient, axis=-1)
        settled = settled & (_slope(trial_x, there.gradient, lower, upper) * length <= 1e3 * tolerance * change)
    settled = settled | (flat & ~calmer & (expected <= rounding))
    stalled = radius < SHORTEST_RADIUS
    iterations = state.iterations + xp.astype(state.running, xp.int64)
    if there.hessian is None:
        curvature = _bfgs(state.curvature, step, xp.where(finite[:, None], state.gradient - there.gradient, 0.0))
    else:
        curvature = xp.where(accepted[:, None, None], -there.hessian, state.curvature)
    return _State(
        x=xp.where(accepted[:, None], trial_x, state.x),
        value=xp.where(accepted, there.value, state.value),
        gradient=xp.where(accepted[:, None], there.gradient, state.gradient),
        curvature=curvature,
        radius=xp.where(state.running, radius, state.radius),
        converged=state.converged | (state.running & settled),
        running=state.running & ~settled & ~stalled,
        iterations=iterations,
        rounding=state.rounding,
    )


def _slope(x: Array, gradient: Array, lower: Array, upper: Array) -> Array:
    """The gradient's size along the directions that stay inside the box."""
    xp = namespace(x)
    return xp.linalg.vector_norm(xp.where(_held(x, gradient, lower, upper), 0.0, gradient), axis=-1)


def _bfgs(curvature: Array, step: Array, change: Array) -> Array:
    """The BFGS update of A with A step = change; unchanged where the change shows no curvature along the step."""
    xp = namespace(curvature)
    product = _times(curvature, step)
    along = xp.linalg.vecdot(step, product)
    seen = xp.linalg.vecdot(step, change)
    size = xp.linalg.vector_norm(step, axis=-1) * xp.linalg.vector_norm(change, axis=-1)
    trusted = ((seen > 1e-4 * size) & (along > 0.0))[:, None, None]
    removed = product[:, :, None] * product[:, None, :] / xp.where(trusted, along[:, None, None], 1.0)
    added = change[:, :, None] * change[:, None, :] / xp.where(trusted, seen[:, None, None], 1.0)
    return xp.where(trusted, curvature - removed + added, curvature)


def _masked(a: Array, keep: Array) -> Array:
    """The matrix with the other rows and columns replaced by those of the identity."""
    xp = namespace(a)
    return xp.where(keep[:, :, None] & keep[:, None, :], a, identity(a.shape[-1], a))


def _times(a: Array, b: Array) -> Array:
    return namespace(a).matmul(a, b[..., None])[..., 0]


def _gain(g: Array, a: Array, step: Array) -> Array:
    xp = namespace(g)
    return xp.linalg.vecdot(g, step) - 0.5 * xp.linalg.vecdot(step, _times(a, step))


def _better(g: Array, a: Array, one: Array, other: Array) -> Array:
    return namespace(g).where((_gain(g, a, one) >= _gain(g, a, other))[:, None], one, other)


def _shrinkage(step: Array, radius: Array) -> Array:
    """The factor that brings a step back inside the radius."""
    xp = namespace(step)
    length = xp.linalg.vector_norm(step, axis=-1, keepdims=True)
    return xp.minimum(radius / _positive(length), xp.ones_like(length))


def _on_face(x: Array, lower: Array, upper: Array) -> Array:
    return (x <= lower) | (x >= upper)


def _positive(x: Array) -> Array:
    return namespace(x).maximum(x, 1e-300)


def _packing(running: HostArray) -> HostArray:
    """Positions of the rows to keep, from (problems, starts): as many for each problem that still runs, those first."""
    left = np.count_nonzero(running, axis=1)
    alive = np.flatnonzero(left)
    order = np.argsort(~running[alive], axis=1, kind="stable")[:, : int(left.max())]
    return np.asarray(alive[:, None] * running.shape[1] + order)


def _merge(everything: _State, rows: HostArray, state: _State) -> _State:
    if rows.size == everything.x.shape[0]:
        return state
    return _State(*(scatter_rows(old, rows, new) for old, new in zip(everything, state, strict=True)))
