"""`xstar explain`: why a trial, a row, or some parameters, are worth evaluating."""

from __future__ import annotations

import argparse

from xstar.cli.arguments import add_source
from xstar.cli.console import Console
from xstar.errors import TrialError

SUMMARY = "say why a trial, a row of a spreadsheet, or some parameters, are worth evaluating"
DETAILS = """

  xstar explain study.toml 7                   trial 7
  xstar explain plate.csv 7                    row 7, as the spreadsheet shows it
  xstar explain study.toml lr=0.01 layers=3    a point of your own
  xstar explain plate.csv                      all that is to be run, or is running"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_source(parser)
    parser.add_argument("what", nargs="*", metavar="NUMBER", help="or NAME=VALUE ...")


def run(options: argparse.Namespace, console: Console) -> int:
    """Answer with expected information, prediction and probability of feasibility."""
    from xstar.cli.in_words import as_data, lines_of, shown
    from xstar.cli.name_value import parse_params, trial_number
    from xstar.cli.opening import open_source

    source = open_source(options, console)
    optimizer = source.optimizer()
    if not options.what:
        numbers = source.running()
        if not numbers:
            raise TrialError(
                f"no {source.counted_in} is open; name one by its number, or some parameters as name=value ..."
            )
        with console.working("explaining"):
            found = [(number, optimizer.explain(source.trial_number(number))) for number in numbers]
        console.answer(
            "\n\n".join(
                f"{source.counted_in} {number}\n{lines_of(shown(why.params, optimizer.space))}\n{why}"
                for number, why in found
            ),
            [{source.counted_in: number, **as_data(why)} for number, why in found],
        )
        return 0
    number = trial_number(options.what)
    what = parse_params(options.what, optimizer.space) if number is None else source.trial_number(number)
    with console.working("explaining"):
        explanation = optimizer.explain(what)
    console.answer(f"{lines_of(shown(explanation.params, optimizer.space))}\n{explanation}", as_data(explanation))
    return 0
