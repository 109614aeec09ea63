"""Functions to optimize, with the places of their maxima: analytic ones, draws from a GP, and two mixed spaces.

Every one is to be maximized, and takes a dictionary of parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from xstar import Categorical, Integer, Real, Space
from xstar.gp import Hyperparameters, Posterior, SquaredExponential, draw_paths
from xstar.search import BoxSearch, draw_candidates


@dataclass(frozen=True)
class Problem:
    """A function without its noise."""

    space: Space
    value: Callable[[Mapping[str, Any]], float]
    maximum: float
    noise: float
    """The standard deviation that is added to it."""
    evaluations: int
    shown: tuple[int, ...]


def branin(x: Any) -> float:
    """Minus Branin's function over 10, on the unit square; three maxima."""
    a, b = 15.0 * x[0] - 5.0, 15.0 * x[1]
    bend = b - 5.1 / (4.0 * math.pi**2) * a * a + 5.0 / math.pi * a - 6.0
    return -float(bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(a) + 10.0) / 10.0


BRANIN_MAXIMUM = -10.0 / (8.0 * math.pi) / 10.0


def cosines(x: Any) -> float:
    """The mixture of cosines of [HHG14], on the unit square."""
    u = 1.6 * np.asarray(x) - 0.5
    return float(1.0 - np.sum(u**2 - 0.3 * np.cos(3.0 * math.pi * u)))


HARTMANN_A = np.array([
    [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
    [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
    [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
    [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
])  # fmt: skip
HARTMANN_P = np.array([
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
])  # fmt: skip


def hartmann(x: Any) -> float:
    """Hartmann's function of six variables."""
    return float(
        np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-np.sum(HARTMANN_A * (np.asarray(x) - HARTMANN_P) ** 2, axis=1))
    )


HARTMANN_MAXIMUM = 3.322368011391339


def cube(dimension: int) -> Space:
    """[0, 1]^d."""
    return Space({f"x{k}": Real(0.0, 1.0) for k in range(dimension)})


def _of_row(function: Callable[[Any], float]) -> Callable[[Mapping[str, Any]], float]:
    return lambda params: float(function([params[name] for name in sorted(params)]))


GP_NOISE = 1e-3


@cache
def gp_sample(seed: int) -> tuple[Callable[[Any], float], float]:
    """A function drawn from a GP on the square (squared exponential, l^2 = 0.1), and its maximum."""
    rng = np.random.default_rng(seed)
    hyper = Hyperparameters(np.full(2, 0.1**0.5), 1.0, GP_NOISE)
    prior = Posterior(SquaredExponential(), hyper, np.zeros((0, 2)), np.zeros(0))
    path = draw_paths(prior, 1, rng, num_features=2000)
    best = BoxSearch(num_starts=64).maximize(path, draw_candidates(4096, np.zeros((0, 2)), rng))
    return lambda x: float(path(np.array([x], dtype=np.float64))[0, 0]), float(best.value[0])


TUNING_SPACE = Space(
    rate=Real(1e-5, 1.0, log=True),
    layers=Integer(1, 8),
    width=Integer(8, 1024, log=True),
    activation=Categorical(["relu", "tanh", "gelu"]),
    norm=Categorical([True, False]),
)


def tuning(params: Mapping[str, Any]) -> float:
    """A score as of tuning a network: a ridge in rate and depth, a best width, and choices that shift it."""
    rate, width = math.log10(params["rate"]), math.log2(params["width"])
    best_rate = {"relu": -2.6, "tanh": -1.8, "gelu": -3.0}[params["activation"]] + (0.6 if params["norm"] else 0.0)
    fit = 0.25 * (rate - best_rate + 0.15 * (params["layers"] - 3)) ** 2
    size = 0.04 * (params["layers"] - 4) ** 2 + 0.05 * (width - 7.0) ** 2
    bonus = {"relu": 0.0, "tanh": -0.15, "gelu": 0.12}[params["activation"]] + (0.1 if params["norm"] else 0.0)
    return float(bonus - fit - size)


RECIPE_SPACE = Space(
    temperature=Real(20.0, 120.0),
    hours=Integer(1, 24),
    catalyst=Categorical(["A", "B", "C", "D"]),
    equivalents=Integer(1, 5),
)


def recipe(params: Mapping[str, Any]) -> float:
    """A yield: each catalyst has its own best temperature; time and excess saturate and then harm."""
    best, height = {"A": (45.0, 0.7), "B": (80.0, 1.0), "C": (100.0, 0.85), "D": (60.0, 0.9)}[params["catalyst"]]
    warmth = math.exp(-(((params["temperature"] - best) / 18.0) ** 2))
    time = 1.0 - math.exp(-params["hours"] / 5.0) - 0.012 * max(0, params["hours"] - 10)
    excess = 1.0 - 0.12 * (params["equivalents"] - 3) ** 2 / 4.0
    return float(height * warmth * time * excess)


def problem(name: str, seed: int) -> Problem:
    """The problem with a name; for "gp", the seed chooses the function."""
    noise = 1e-3**0.5
    if name == "branin":
        return Problem(cube(2), _of_row(branin), BRANIN_MAXIMUM, noise, 40, (10, 20, 30, 40))
    if name == "cosines":
        return Problem(cube(2), _of_row(cosines), 1.6, noise, 40, (10, 20, 30, 40))
    if name == "hartmann":
        return Problem(cube(6), _of_row(hartmann), HARTMANN_MAXIMUM, noise, 80, (20, 40, 60, 80))
    if name == "gp":
        function, maximum = gp_sample(seed)
        return Problem(cube(2), _of_row(function), maximum, GP_NOISE, 40, (10, 20, 30, 40))
    if name == "tuning":
        return Problem(TUNING_SPACE, tuning, TUNING_MAXIMUM, noise, 40, (10, 20, 30, 40))
    if name == "recipe":
        return Problem(RECIPE_SPACE, recipe, RECIPE_MAXIMUM, noise, 40, (10, 20, 30, 40))
    raise KeyError(name)


TUNING_MAXIMUM = 0.22
"""Of gelu with a norm, 4 layers, width 128, at its own best rate."""
RECIPE_MAXIMUM = 1.0 - math.exp(-14.0 / 5.0) - 0.012 * 4
"""Of catalyst B at 80 degrees for 14 hours with 3 equivalents."""
NAMES = ("branin", "cosines", "hartmann", "gp", "tuning", "recipe")
