"""`xstar fail`: a trial, or parameters, whose evaluation has failed."""

from __future__ import annotations

import argparse

from xstar.cli.arguments import add_study
from xstar.cli.console import Console

SUMMARY = "tell that a trial has failed; the model learns to stay away"
DETAILS = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_study(parser)
    parser.add_argument("what", nargs="+", metavar="NUMBER", help="or NAME=VALUE ...")
    parser.add_argument("--reason", default="failed", help="why, in words")


def run(options: argparse.Namespace, console: Console) -> int:
    """Record a failure."""
    from xstar.cli.opening import open_named
    from xstar.cli.results import TypedResult

    typed = TypedResult.read(options.what, "failed", None, options.reason.strip())
    typed.check(options.study)
    typed.record(open_named(options, console, create=typed.number is None), console)
    return 0
