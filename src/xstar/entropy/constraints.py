"""What "x_star is the maximizer" says about f: equalities and one-sided sites on T f [HHG14, section 2.2].

At a free coordinate i:     d_i f = 0, and the site d_ii f <= 0; between free i < j: d_ij f is the path's own value.
At an active coordinate i:  only the site "outward derivative >= 0": a maximum on a face need not be stationary.
At a discrete coordinate, or where only feasibility bounds the maximum: nothing.
`boundary="paper"` takes every coordinate as free.

f(x_star) is compared with the incumbent: in the paper f(x_star) >= max y + noise, one probit site, though the largest
noisy y is biased upwards; otherwise f(x_star) >= f(a) for latent values at competing points a. All sites are written as
z >= target, z = M T f.

Notation
    R       problems                                 H, S    hyperparameter samples, paths of each
    l       length of T                              K       sites
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xstar.entropy.maximizers import Maximizers
from xstar.gp.jets import jet_layout
from xstar.numerics.arrays import Array, HostArray, identity, move, namespace, zeros


class Constraints(NamedTuple):
    """Equalities on entries of T, and sites on linear combinations of them."""

    equal: Array
    """Which entries of T are known, shape (R, H, S, l)."""
    equal_to: Array
    """Their values, zero elsewhere, shape (R, H, S, l)."""
    combination: Array
    """M, shape (R, H, S, K, l)."""
    target: Array
    """Shape (R, H, S, K)."""
    noise_variance: Array
    """Shape (R, H, S, K)."""
    imposed: Array
    """Shape (R, H, S, K)."""


def constrain(
    maximizers: Maximizers,
    num_competitors: int,
    *,
    best_value: Array | None = None,
    best_noise_variance: Array | None = None,
    present: Array | None = None,
    boundary: str = "aware",
    along: HostArray | None = None,
) -> Constraints:
    """Return the constraints at sampled maximizers, for T with the values at competing points behind the jet.

    Parameters
    ----------
    maximizers : Maximizers
        The paths and their maximizers.
    num_competitors : int
        How many competing points there are.
    best_value, best_noise_variance : array of shape (R,), (R, H), optional
        Those of the paper's comparison with the best observation; without them f(x_star) is compared with the
        competing points alone.
    present : array of bool, shape (R, num_competitors), optional
        A problem may have fewer competing points.
    boundary : str
        "aware", or "paper", which takes every coordinate as free.
    along : ndarray of int, optional
        The coordinates of the jet's derivatives; by default all.

    Returns
    -------
    Constraints
        Equalities on entries of T, and sites on linear combinations of them.
    """
    xp = namespace(maximizers.x)
    lead, everything = maximizers.x.shape[:-1], maximizers.x.shape[-1]
    columns = np.arange(everything) if along is None else along
    d, where = len(columns), move(columns, maximizers.x)
    layout = jet_layout(d)
    t, k = layout.length, num_competitors
    active = xp.take(maximizers.active, where, axis=-1)
    active = active if boundary == "aware" else xp.zeros_like(active)
    # A maximum that feasibility holds back says nothing about slopes.
    stationary = maximizers.stationary[..., None]
    free = ~active & stationary
    active = active & stationary
    i, j = move(layout.first[d:], maximizers.x), move(layout.second[d:], maximizers.x)

    def no(count: int) -> Array:
        return zeros((*lead, count), maximizers.x, boolean=True)

    pairs = xp.take(free, i, axis=-1) & xp.take(free, j, axis=-1)
    equal = xp.concat([no(1), free, no(d), pairs, no(k)], axis=-1)
    flat = xp.reshape(xp.take(xp.take(maximizers.hessian, where, axis=-1), where, axis=-2), (*lead, d * d))
    mixed = xp.where(pairs, xp.take(flat, i * d + j, axis=-1), 0.0)
    equal_to = xp.concat([zeros((*lead, 1 + 2 * d), flat), mixed, zeros((*lead, k), flat)], axis=-1)

    unit = identity(t + k, flat)
    value = unit[layout.value, :]
    slopes, bends = unit[layout.gradient, :], unit[layout.diagonal, :]
    outward = xp.where(active, xp.take(maximizers.outward, where, axis=-1), 0.0)
    own = outward[..., None] * slopes - xp.astype(free, flat.dtype)[..., None] * bends
    over_best = xp.broadcast_to(value, (*lead, 1, t + k))
    over_competitors = xp.broadcast_to(value - unit[t:, :], (*lead, k, t + k))
    combination = xp.concat([over_best, own, over_competitors], axis=-2)

    target = noise_variance = zeros((*lead, 1 + d + k), flat)
    compared = no(1)
    if best_value is not None and best_noise_variance is not None:
        first = identity(1 + d + k, flat)[0, :]
        target = target + best_value[:, None, None, None] * first
        noise_variance = noise_variance + best_noise_variance[:, :, None, None] * first
        compared = ~compared
    competing = ~no(k) if present is None else xp.broadcast_to(present[:, None, None, :], (*lead, k))
    imposed = xp.concat([compared, active | free, competing], axis=-1)
    return Constraints(equal, equal_to, combination, target, noise_variance, imposed)
