"""How much each parameter matters: total Sobol indices of the function and of the information.

    T_i = E[(g(A) - g(A with i from B))^2] / (2 Var g)        [Jan99]

for independent points A and B, uniform over the legal ones: the share of the variance of g in which parameter i has a
part, alone or together with others. For the function, g are draws from the model, and their scatter is what the model
does not know; for the information, g is one surface, and its interval comes from drawing the points again (bootstrap).

[Jan99]  Jansen, Analysis of variance designs for model output, 1999.
"""

from __future__ import annotations

import math

import numpy as np

from xstar.beliefs import Importance, Share
from xstar.engine.answers import information
from xstar.engine.model import Model
from xstar.engine.seeds import Seeds
from xstar.gp import draw_paths
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.numerics.designs import sobol

DRAWS, REDRAWN = 64, 200
"""Functions drawn from the model, at least; how often points are drawn again."""
INTERVAL = (0.05, 0.95)


def importance(model: Model, pending: HostArray, num_points: int) -> Importance:
    """Return how much each parameter that varies matters, from `num_points` pairs of points."""
    space, domain = model.settings.space, model.domain
    names = space.free
    if not names:
        return Importance({}, {})
    rng = Seeds(model.settings.seed).importance()
    blocks = len(domain.blocks)
    U = sobol(num_points, 2 * blocks, rng)
    first, second = U[:, :blocks], U[:, blocks:]
    designs = [domain.spread(first)]
    for k in range(blocks):
        mixed = first.copy()
        mixed[:, k] = second[:, k]
        designs.append(domain.spread(mixed))
    rows = np.concatenate(designs)
    shape = (1 + blocks, num_points)
    paths = draw_paths(model.post, math.ceil(DRAWS / model.post.batch_shape[0]), rng)
    drawn = to_numpy(paths(rows)).reshape(-1, *shape)
    bits = information(model, rows, pending).reshape(1, *shape)
    again = rng.integers(num_points, size=(REDRAWN, num_points))
    return Importance(
        dict(zip(names, _shares(_total(drawn), _total(drawn)), strict=True)),
        dict(zip(names, _shares(_total(bits), _total(bits[0][:, again].swapaxes(0, 1))), strict=True)),
    )


def _total(g: HostArray) -> HostArray:
    """The total Sobol indices (..., blocks) of values (..., 1 + blocks, N); 0 where g does not vary."""
    base, mixed = g[..., :1, :], g[..., 1:, :]
    variance = np.var(g.reshape(*g.shape[:-2], -1), axis=-1)[..., None]
    shares = np.mean((base - mixed) ** 2, axis=-1) / np.where(variance > 0.0, 2.0 * variance, 1.0)
    return np.asarray(np.clip(shares, 0.0, 1.0))


def _shares(best: HostArray, scattered: HostArray) -> list[Share]:
    """The mean of some indices, with the interval of others; shapes (..., blocks)."""
    low, high = np.quantile(scattered, INTERVAL, axis=0)
    return [Share(*map(float, parts)) for parts in zip(best.mean(axis=0), low, high, strict=True)]
