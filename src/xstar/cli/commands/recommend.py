"""`xstar recommend`: the point with the best posterior mean, of all or of those evaluated."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from xstar.cli.arguments import add_source
from xstar.cli.console import Console

if TYPE_CHECKING:
    from xstar.optimizer import Optimizer

SUMMARY = "name the point with the best posterior mean, or the compromises between several objectives"
DETAILS = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_source(parser)
    parser.add_argument("--tested", action="store_true", help="of those that have been evaluated")


def run(options: argparse.Namespace, console: Console) -> int:
    """Answer with the recommendation."""
    from xstar.cli.opening import open_source

    source = open_source(options, console)
    answer(source.optimizer(), console, tested=options.tested, notes=source.remarks)
    return 0


def answer(optimizer: Optimizer, console: Console, *, tested: bool = False, **more: Any) -> None:
    """Answer with what is recommended, and whatever else an answer in JSON should have."""
    from xstar.cli.advice import advice

    with console.working("fitting the model"):
        found = advice(optimizer, tested=tested)
    console.answer(found.text, {**found.data, **more})
