"""Several outputs as pictures have them: each as a study of its own, and their trials by what they are worth."""

from __future__ import annotations

from collections.abc import Mapping

from xstar.goals import Goals
from xstar.numerics.rounding import with_digits
from xstar.optimizer import Optimizer
from xstar.trial import Trial
from xstar.views.figures.coordinates import short
from xstar.views.figures.picture import Kind


def studies_of(optimizer: Optimizer) -> list[tuple[str, Optimizer]]:
    """Return the study of each output by its name; of one output, the study itself without a name."""
    if optimizer.goals is None:
        return [("", optimizer)]
    return [(name, optimizer.output(name)) for name in optimizer.goals.names]


def is_known(optimizer: Optimizer) -> bool:
    """Return whether anything has been told of every output, so that a model can be asked."""
    if optimizer.goals is None:
        return any(trial.state == "done" for trial in optimizer.trials)
    told = {name for trial in optimizer.trials for name in trial.values}
    return told.issuperset(optimizer.goals.names)


def value_label(name: str) -> str:
    """Return what an axis of values is called."""
    return short(name) if name else "value"


def goal_in_words(goals: Goals, name: str) -> str:
    """Return an output with what is wanted of it."""
    wanted = goals.constraints.get(name)
    return f"{short(name)}, to {goals.direction(name)}" if wanted is None else f"{short(name)}, {wanted}"


def kind_of(goals: Goals | None, trial: Trial) -> Kind:
    """Return what kind of point a trial with a result is."""
    return Kind.TOLD if goals is None or goals.are_met(trial.values) else Kind.INFEASIBLE


def violated(goals: Goals, values: Mapping[str, float]) -> list[str]:
    """Return the bounds that values told are not within, in words.

    Examples
    --------
    >>> from xstar.goals import Goals
    >>> from xstar.views.figures.outputs import violated
    >>> violated(Goals.check({"yield": "maximize"}, {"impurity": ("<=", 0.5)}), {"yield": 3.0, "impurity": 0.7})
    ['impurity is not <= 0.5']
    """
    return [
        f"{name} is not {item}"
        for name, item in goals.constraints.items()
        if name in values and not item.is_met(values[name])
    ]


def told_in_words(trial: Trial, digits: int = 5) -> str:
    """Return what was told of a trial."""
    if not trial.values:
        return with_digits(trial.value or 0.0, digits)
    return ", ".join(f"{name} {with_digits(value, digits)}" for name, value in trial.values.items())
