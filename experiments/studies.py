"""What each figure needs: its problems, its methods, and how many runs of how many evaluations."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from experiments.methods import FIGURED, PEERS
from experiments.problems import HYDROGEN_CSV, find_problem
from experiments.store import Task

HYDROGEN = "hydrogen" if os.environ.get(HYDROGEN_CSV) else "fullerenes"
"""The measurements themselves where there are any, otherwise what stands in for them."""
FIGURES: dict[str, tuple[str, ...]] = {
    "figure2": ("within-model",),
    "figure3": ("branin", "cosines", "hartmann"),
    "figure4": ("nnet", HYDROGEN, "portfolio", "walker-a", "walker-b"),
}
"""The problems of each; figure 1 has none: `experiments.surfaces`."""
PROBLEMS = tuple(problem for problems in FIGURES.values() for problem in problems)
WITHIN_MODEL = tuple(name for name in FIGURED if name != "pes-nb")
"""With known hyperparameters there is nothing to average over: PES-NB is PES."""
COSTLY = ("hartmann", "walker-a", "walker-b")


@dataclass(frozen=True)
class Preset:
    """How much is run."""

    repeats: int
    evaluations: int | None = None
    """At most so many; None for as many as the figure has."""
    exceptions: dict[str, int] = field(default_factory=dict)
    """Repeats of single problems."""

    def repeats_of(self, problem: str) -> int:
        """How many runs of a problem."""
        return self.exceptions.get(problem, self.repeats)


PRESETS = {
    "quick": Preset(8, 20, {"within-model": 20, **dict.fromkeys(COSTLY, 3)}),
    "default": Preset(50, None, dict.fromkeys(COSTLY, 20)),
    "paper": Preset(250, None, {"within-model": 1000, "hydrogen": 500, "fullerenes": 500}),
}


def methods_of(problem: str) -> tuple[str, ...]:
    """The methods that a figure compares on a problem."""
    return WITHIN_MODEL if problem == "within-model" else FIGURED


def plan(
    problems: tuple[str, ...], preset: Preset, repeats: int | None = None, methods: tuple[str, ...] | None = None
) -> list[Task]:
    """The runs of some problems: repeat after repeat, so that what is done at any time compares all methods."""
    tasks = []
    for problem in problems:
        offered = methods_of(problem) if methods is None else methods
        budget = find_problem(problem).evaluations
        evaluations = budget if preset.evaluations is None else min(budget, preset.evaluations)
        count = preset.repeats_of(problem) if repeats is None else repeats
        # Whoever has to learn the hyperparameters has nothing to look for where the others know them.
        offered = tuple(name for name in offered if problem != "within-model" or name not in (*PEERS, "pes-nb"))
        tasks += [Task(problem, name, repeat, evaluations) for repeat in range(count) for name in offered]
    return tasks
