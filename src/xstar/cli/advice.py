"""What a study recommends, in words and as data: a point, or the compromises between several objectives."""

from __future__ import annotations

from typing import Any, NamedTuple

from xstar.cli.in_words import as_data, lines_of, shown
from xstar.errors import TrialError
from xstar.optimizer import Optimizer
from xstar.trial import SURE, Recommendation


class Advice(NamedTuple):
    """What is recommended."""

    text: str
    """In some lines."""
    brief: str
    """The same for the end of a list of remarks."""
    data: dict[str, Any]
    """For an answer in JSON."""


def advice(optimizer: Optimizer, *, tested: bool = False) -> Advice:
    """Return what is recommended; of those that were `tested`, if so."""
    if optimizer.goals is None or not optimizer.goals.several:
        return _point(optimizer, optimizer.recommend(tested=tested))
    front = optimizer.pareto()
    data = {
        "compromises": [as_data(point) for point in front.recommended],
        "not dominated": [{"params": trial.params, "values": trial.values} for trial in front.trials],
        "hypervolume": front.hypervolume,
        "reference": front.reference,
    }
    if not tested:
        return Advice(str(front), str(front), data)
    lines = [f"{len(front.trials)} evaluations that no other one dominates:"]
    for trial in front.trials:
        values = ", ".join(f"{name} {value:g}" for name, value in trial.values.items())
        lines.append(f"  {_in_a_line(optimizer, trial.params)}: {values}")
    return Advice("\n".join(lines), "\n".join(lines), data)


def advice_so_far(optimizer: Optimizer) -> Advice:
    """Return likewise what is recommended, or why nothing can be yet: of some output, nothing may be known."""
    try:
        return advice(optimizer)
    except TrialError as error:
        return Advice(str(error), f"nothing is recommended yet: {error}", {})


def _point(optimizer: Optimizer, best: Recommendation) -> Advice:
    likely = "" if best.feasibility == 1.0 else f"\nP(feasible) {best.feasibility:.0%}"
    text = f"{lines_of(shown(best.params, optimizer.space))}\nvalue there: {best.value_in_words}{likely}"
    sure = f", feasible with {best.feasibility:.0%}" if best.outputs and best.feasibility < SURE else ""
    brief = f"recommended so far: {_in_a_line(optimizer, best.params)}, for {best.value_in_words}{sure}"
    return Advice(text, brief, as_data(best))


def _in_a_line(optimizer: Optimizer, params: Any) -> str:
    return ", ".join(f"{name} = {text}" for name, text in shown(params, optimizer.space).items())
