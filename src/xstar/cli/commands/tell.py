"""`xstar tell`: the value of a trial, or of parameters that nobody asked for."""

from __future__ import annotations

import argparse

from xstar.cli.arguments import add_study
from xstar.cli.console import Console

SUMMARY = "tell the value of a trial"
DETAILS = """

  xstar tell study.toml 7 0.93                          the value of trial 7
  xstar tell study.toml lr=0.01 layers=3 0.91           a result that nobody asked for
  xstar tell study.toml 8 failed                        a failure
  xstar tell study.toml 9 yield=81.2±0.5 cost=3         several outputs; what is missing may be told later"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage = (
        "xstar tell STUDY NUMBER VALUE [--sd SD], or: xstar tell STUDY NAME=VALUE ... VALUE [--sd SD]; of several "
        "outputs, VALUE is OUTPUT=VALUE ..."
    )
    add_study(parser)
    parser.add_argument("what", nargs="+", metavar="WHAT", help="NUMBER VALUE, or NAME=VALUE ... VALUE")
    parser.add_argument("--sd", type=float, help="the standard deviation of the value's noise, if known")


def run(options: argparse.Namespace, console: Console) -> int:
    """Record a result."""
    from xstar.cli.opening import open_named
    from xstar.cli.results import TypedResult

    *words, value = options.what
    named = "=" in value  # of several outputs, each has its name
    typed = TypedResult.read(options.what if named else words, None if named else value, options.sd, None)
    typed.check(options.study)
    typed.record(open_named(options, console, create=typed.number is None), console)
    return 0
