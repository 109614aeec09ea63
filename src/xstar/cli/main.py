"""The command line from the first word to the exit code, and what comes of errors.

Exit codes: 0 well; 1 the study cannot go on (evaluations keep failing, nothing is left to try, its database has gone
away); 2 wrong input, of which nothing has come; 130 interrupted.
"""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections.abc import Sequence

from xstar.cli.commands import COMMANDS
from xstar.cli.console import Console, StorageLost
from xstar.cli.parser import build_parser
from xstar.errors import SpaceExhausted, XstarError

NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan).*", re.IGNORECASE)
"""An argument that is a number, not an option."""
RENAMED = r".* is called '\w+' now"
"""A warning about a setting by its old name, which its author should see."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    given, program = (given[: given.index("--")], given[given.index("--") + 1 :]) if "--" in given else (given, [])
    # With a space before it, argparse takes a negative number for what it is.
    options = build_parser().parse_args([f" {word}" if NEGATIVE.fullmatch(word) else word for word in given])
    options.program = program
    console = Console(options.json, getattr(options, "quiet", False))
    if program and options.action != "run":
        console.complain(f"only xstar run takes a program after two dashes; received {shlex.join(program)!r}.")
        return 2
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: console.note(str(message))
            warnings.filterwarnings("always", RENAMED, DeprecationWarning)
            return COMMANDS[options.action].run(options, console)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except Exception as error:
        sentence = str(error) if isinstance(error, XstarError) else _known_trouble(error)
        if sentence is None:
            raise
        console.complain(sentence)
        return 1 if isinstance(error, SpaceExhausted | StorageLost) else 2


def _known_trouble(error: Exception) -> str | None:
    """One sentence about what the world outside has done; None for what is our own fault."""
    if isinstance(error, OSError):
        name = f" {error.filename!r}" if error.filename else ""
        return f"{error.strerror or error}{name}."
    if "optuna" in sys.modules:
        import optuna
        import sqlalchemy.exc

        from xstar.cli.studies import brief

        if isinstance(error, sqlalchemy.exc.SQLAlchemyError | optuna.exceptions.OptunaError):
            return f"the storage of the study fails: {brief(error)}"
    return None
