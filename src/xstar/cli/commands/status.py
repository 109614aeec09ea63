"""`xstar status`: how many trials there are in which state, and the best value observed."""

from __future__ import annotations

import argparse
import math

from xstar.cli.arguments import add_study
from xstar.cli.console import Console, listed

SUMMARY = "say how the study stands"
DETAILS = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_study(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Answer how the study stands."""
    from optuna.trial import TrialState

    from xstar.cli.opening import open_named
    from xstar.cli.trials import STATE_WORDS
    from xstar.direction import Direction
    from xstar.integrations.optuna.records import WITHDRAWN

    opened = open_named(options, console)
    study = opened.study
    trials = study.get_trials(deepcopy=False)
    withdrawn = sum(WITHDRAWN in trial.user_attrs for trial in trials)
    counts = {word: sum(trial.state == state for trial in trials) for state, word in STATE_WORDS.items()}
    counts["failed"] -= withdrawn
    counts["withdrawn"] = withdrawn
    done = [trial for trial in trials if trial.state == TrialState.COMPLETE and math.isfinite(trial.value or 0.0)]
    direction = study.direction.name.lower()
    best = Direction.parse(direction).best(done, lambda trial: trial.value or 0.0)
    running = [trial.number for trial in trials if trial.state == TrialState.RUNNING]
    data = {
        "study": study.study_name,
        "storage": opened.address,
        "direction": direction,
        "trials": {word: count for word, count in counts.items() if count},
        "running": running,
        "best": None if best is None else {"number": best.number, "value": best.value, "params": best.params},
    }
    lines = [
        f"{study.study_name}: to {direction}, in {opened.address}",
        ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no trials yet",
    ]
    if running:
        lines.append(f"running: {', '.join(f'#{number}' for number in running)}")
    if best is not None:
        lines.append(f"best observed: {best.value!r} in trial {best.number}\n{listed(best.params)}")
    console.answer("\n".join(lines), data)
    return 0
