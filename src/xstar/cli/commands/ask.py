"""`xstar ask`: suggest the next evaluations, and count on them from then on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from xstar.cli.arguments import add_study, positive_integer
from xstar.cli.console import Console
from xstar.errors import SpaceExhausted

if TYPE_CHECKING:
    from optuna import Trial

SUMMARY = "suggest the next evaluation"
DETAILS = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_study(parser)
    parser.add_argument(
        "-n", "--count", type=positive_integer, metavar="N", help="suggest several, informative together"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Begin trials and answer with their numbers and parameters."""
    from xstar.cli.in_words import lines_of
    from xstar.cli.opening import open_named
    from xstar.cli.trials import begin, check_not_exhausted

    opened = open_named(options, console, create=True)
    asked: list[Trial] = []
    for _ in range(options.count or 1):
        snapshot = opened.snapshot()
        try:
            check_not_exhausted(snapshot)
        except SpaceExhausted:
            if not asked:
                raise
            break
        trial, _ = begin(opened, snapshot)
        asked.append(trial)
    answers = [{"number": trial.number, "params": trial.params} for trial in asked]
    text = "\n".join(
        f"trial {trial.number}\n{lines_of({name: str(value) for name, value in trial.params.items()})}"
        for trial in asked
    )
    console.answer(text, answers[0] if options.count is None else answers)
    return 0
