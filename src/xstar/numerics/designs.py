"""Points that fill the unit cube: SciPy's scrambled Sobol sequence and Latin hypercube."""

from __future__ import annotations

import math

import numpy as np

from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import generator, integer


def sobol(count: int, dimension: int, rng: np.random.Generator) -> HostArray:
    """The first `count` points of a scrambled Sobol sequence, shape (count, dimension).

    Balanced when `count` is a power of two; any count is allowed.
    """
    from scipy.stats import qmc

    _check(count, dimension, rng)
    if count == 0:
        return np.empty((0, dimension))
    exponent = math.ceil(math.log2(count))
    return qmc.Sobol(dimension, rng=rng).random_base2(exponent)[:count]


def latin_hypercube(count: int, dimension: int, rng: np.random.Generator) -> HostArray:
    """A random Latin hypercube, shape (count, dimension): one point in each of `count` slices per axis."""
    from scipy.stats import qmc

    _check(count, dimension, rng)
    return qmc.LatinHypercube(dimension, rng=rng).random(count)


def _check(count: int, dimension: int, rng: np.random.Generator) -> None:
    integer(count, "count", 0)
    integer(dimension, "dimension", 1)
    generator(rng)
