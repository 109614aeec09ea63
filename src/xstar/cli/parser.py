"""The parser of the command line: the commands, each with the arguments that its module adds."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from xstar.cli.commands import COMMANDS
from xstar.version import __version__

FILES = ("STUDY", "FILE", "TOML")
"""What arguments are called that are files."""
HELP = """Find the optimum of an expensive function in few evaluations.

STUDY is a definition (study.toml), the SQLite file of a study (study.db), a journal of Optuna (study.log), the URL of
a database, or, for commands that only read, a spreadsheet (plate.csv, with plate.toml beside it)."""

EXAMPLES = """a definition, study.toml:

  direction = "minimize"

  [parameters]
  lr = { low = 1e-5, high = 1e-1, log = true }
  layers = { low = 1, high = 6 }
  activation = ["relu", "gelu"]

  [run]
  budget = 40

and what to do with it (xstar init makes one by asking):

  xstar run study.toml -- python train.py --lr {lr} --layers {layers}
  xstar where study.toml
"""


class _Parser(argparse.ArgumentParser):
    """One that knows what people forget."""

    def error(self, message: str) -> NoReturn:
        if self.prog == "xstar" and re.match("unrecognized arguments: [^-]", message):
            message += "; the program of xstar run, with all its arguments, comes after two dashes: -- python train.py"
        super().error(message)


def build_parser(file: Any = None) -> argparse.ArgumentParser:
    """Return a parser of all commands and their options; `file` marks arguments that are files, for shells."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = _Parser("xstar", description=HELP, epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("--version", action="version", version=f"xstar {__version__}")
    commands = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        says = command.SUMMARY
        described = f"{says[0].upper()}{says[1:]}.{command.DETAILS}"
        own = commands.add_parser(name, help=says, description=described, formatter_class=formatter)
        command.add_arguments(own)
        for action in own._actions if file is not None else ():
            if action.metavar in FILES:
                action.complete = file  # type: ignore[attr-defined]
    return parser
