"""The problems, by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

from experiments.problems import analytic, measured, walker, within_model
from experiments.problems.base import Problem, Rows

__all__ = ["TITLES", "Problem", "Rows", "find_problem"]

HYDROGEN_CSV = "XSTAR_HYDROGEN_CSV"
"""The environment variable that names a table of the measurements of Burrows et al. (2009)."""

MAKERS: dict[str, Callable[[], Problem]] = {
    "branin": analytic.branin_problem,
    "cosines": analytic.cosines_problem,
    "hartmann": analytic.hartmann_problem,
    "nnet": measured.nnet,
    "fullerenes": measured.fullerenes,
    "hydrogen": lambda: measured.hydrogen(os.environ.get(HYDROGEN_CSV, "")),
    "portfolio": measured.portfolio,
    "walker-a": walker.walker_a,
    "walker-b": walker.walker_b,
}
TITLES = {
    "within-model": "Within the model",
    "branin": "Branin",
    "cosines": "Cosines",
    "hartmann": "Hartmann-6",
    "nnet": "NNet",
    "fullerenes": "Fullerenes (stands in for Hydrogen)",
    "hydrogen": "Hydrogen",
    "portfolio": "Portfolio",
    "walker-a": "Walker A",
    "walker-b": "Walker B",
}


def find_problem(name: str, repeat: int = 0) -> Problem:
    """The problem with a name; within the model, every repeat has a function of its own."""
    return within_model.within_model_problem(repeat) if name == "within-model" else _one_for_all(name)


@cache
def _one_for_all(name: str) -> Problem:
    if name not in MAKERS:
        raise ValueError(f"there is no problem {name!r}; there are {', '.join(TITLES)}.")
    return MAKERS[name]()
