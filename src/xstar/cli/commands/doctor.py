"""`xstar doctor`: what is installed, what it runs on, and whether it works here. What is looked at is in `health`."""

from __future__ import annotations

import argparse

from xstar.cli.arguments import add_json
from xstar.cli.console import Console

SUMMARY = "say what is installed, and whether it works here"
DETAILS = """

It runs a small search whose optimum is known and writes a study into a temporary folder; nothing is left there. The
exit code is 1 if anything fails."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_json(parser)


def run(_: argparse.Namespace, console: Console) -> int:
    """Answer with versions, extras, backends, threads and the outcome of the self-test."""
    from dataclasses import asdict

    from xstar.cli.health import examine

    found = examine()
    console.answer(str(found), {**asdict(found), "well": found.is_well})
    return 0 if found.is_well else 1
