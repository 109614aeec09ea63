"""Functions to optimize, with the places of their maxima: analytic ones, draws from a GP, and two mixed spaces.

Every one is to be maximized, and takes a dictionary of parameters. Branin is divided by 10 here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from experiments.problems.analytic import branin, branin_problem, cosines, hartmann, hartmann_problem
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


def cube(dimension: int) -> Space:
    """[0, 1]^d."""
    return Space({f"x{k}": Real(0.0, 1.0) for k in range(dimension)})


def _of_row(function: Callable[[Any], Any], scale: float = 1.0) -> Callable[[Mapping[str, Any]], float]:
    """From a function of rows (m, d) to one of parameters."""
    return lambda params: scale * float(function(np.array([[params[name] for name in sorted(params)]]))[0])


GP_NOISE = 1e-3


@cache
def gp_sample(seed: int) -> tuple[Callable[[Any], Any], float]:
    """A function drawn from a GP on the square (squared exponential, l^2 = 0.1), and its maximum."""
    rng = np.random.default_rng(seed)
    hyper = Hyperparameters(np.full(2, 0.1**0.5), 1.0, GP_NOISE)
    prior = Posterior(SquaredExponential(), hyper, np.zeros((0, 2)), np.zeros(0))
    path = draw_paths(prior, 1, rng, num_features=2000)
    best = BoxSearch(num_starts=64).maximize(path, draw_candidates(4096, np.zeros((0, 2)), rng))
    return lambda X: path(X)[0], float(best.value[0])


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
        return Problem(cube(2), _of_row(branin, 0.1), 0.1 * branin_problem().maximum, noise, 40, (10, 20, 30, 40))
    if name == "cosines":
        return Problem(cube(2), _of_row(cosines), 1.6, noise, 40, (10, 20, 30, 40))
    if name == "hartmann":
        return Problem(cube(6), _of_row(hartmann), hartmann_problem().maximum, noise, 80, (20, 40, 60, 80))
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
