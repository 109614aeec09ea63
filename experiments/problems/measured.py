"""NNet, Hydrogen and Portfolio: functions that are known through measurements only [HHG14, section 3.1].

Each is the mean of a GP fitted to samples of the original, and its noise the fitted one; how samples were drawn and
fitted, and what was chosen where the paper leaves it open, stands in `experiments.sampling`. The values are in the
samples' own units.

Hydrogen's measurements have to come from the user. Without them Fullerenes stands in: another chemistry, with three
inputs, which says nothing about the paper's curves for Hydrogen.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from experiments.problems.base import Problem, Rows
from experiments.sampling.chemistry import HYDROGEN, hydrogen_truth
from experiments.sampling.truth import DATA, Truth, load

EVALUATIONS = 40


@cache
def nnet() -> Problem:
    """Accuracy of a neural network on Boston Housing: minus its test error, against weight decay and iterations."""
    return _stored("nnet")


@cache
def portfolio() -> Problem:
    """Sharpe ratio of a year's simulated returns of AXP, BA and HD, against their weights."""
    return _stored("portfolio")


@cache
def fullerenes() -> Problem:
    """Mole fraction of the wanted product, against reaction time, sultine and temperature."""
    return _stored("fullerenes")


def hydrogen(path: str | Path) -> Problem:
    """Hydrogen production against pH and nitrogen, from a CSV file with the columns pH, nitrogen and hydrogen.

    The GP is fitted when this is called.
    """
    if not str(path):
        raise ValueError(
            "Hydrogen needs its measurements: name a CSV file with the columns "
            f"{', '.join(HYDROGEN)}, by its path or in the environment variable XSTAR_HYDROGEN_CSV. Without them, "
            "fullerenes is another chemical problem."
        )
    truth = hydrogen_truth(Path(path))
    return _problem("hydrogen", truth, truth.maximizer())


def _stored(name: str) -> Problem:
    truth, maximizer, _ = load(DATA / f"{name}.npz")
    return _problem(name, truth, maximizer)


def _problem(name: str, truth: Truth, maximizer: Rows) -> Problem:
    maximum = float(truth.values(maximizer[None])[0])
    return Problem(name, truth.values, maximizer, maximum, truth.noise, EVALUATIONS)
