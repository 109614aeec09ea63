"""One file a command: its arguments, and what it does.

What a command needs beyond the standard library is imported when it runs, so that `xstar --help` is quick.
"""

from __future__ import annotations

import argparse
from typing import Protocol

from xstar.cli.commands import (
    ask,
    completion,
    csv,
    dashboard,
    doctor,
    explain,
    export,
    fail,
    init,
    recommend,
    report,
    run,
    status,
    tell,
    where,
)
from xstar.cli.console import Console


class Command(Protocol):
    """What every module of this package has."""

    SUMMARY: str
    """One line of `xstar --help`."""
    DETAILS: str
    """What else `xstar COMMAND --help` says."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""

    def run(self, options: argparse.Namespace, console: Console) -> int:
        """Run the command and return the exit code."""


COMMANDS: dict[str, Command] = {
    "init": init, "run": run, "ask": ask, "tell": tell, "fail": fail, "status": status, "recommend": recommend,
    "where": where, "explain": explain, "report": report, "export": export, "csv": csv, "dashboard": dashboard,
    "doctor": doctor, "completion": completion,
}  # fmt: skip
"""In the order of `xstar --help`."""
