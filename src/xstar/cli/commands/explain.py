"""`xstar explain`: why a trial, or some parameters, are worth evaluating."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from xstar.cli.arguments import add_study
from xstar.cli.console import Console, listed

SUMMARY = "say why a trial, or some parameters, are worth evaluating"
DETAILS = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_study(parser)
    parser.add_argument("what", nargs="+", metavar="NUMBER", help="or NAME=VALUE ...")


def run(options: argparse.Namespace, console: Console) -> int:
    """Answer with expected information, prediction and probability of feasibility."""
    from xstar.cli.name_value import parse_params, trial_number
    from xstar.cli.opening import open_named

    optimizer = open_named(options, console).optimizer_with_results()
    number = trial_number(options.what)
    explanation = optimizer.explain(parse_params(options.what, optimizer.space) if number is None else number)
    console.answer(f"{listed(explanation.params)}\n{explanation}", asdict(explanation))
    return 0
