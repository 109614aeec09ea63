"""How `xstar run` runs: from [run] in the definition, and from options, which have the last word."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xstar.cli.program import Program
from xstar.errors import SettingsError
from xstar.files.definition import OLD_RUN_KEYS, RUN_KEYS, check_keys, renamed
from xstar.goals import Goals
from xstar.numerics.checks import integer, positive


@dataclass(frozen=True)
class RunSettings:
    """The settings of a worker."""

    program: Program
    budget: int
    """How many evaluations the study shall have in all."""
    workers: int = 1
    """Programs that run at once."""
    tolerance: float | None = None
    """The run ends when no more than this is left to gain; of several objectives, no more of the hypervolume."""
    max_failures: int = 20
    """In a row."""
    grace: float = 10.0
    """Seconds that running programs have left after Ctrl-C."""
    heartbeat: int = 30
    """Seconds between signs of life."""
    logs: str | None = None
    """The folder for the files of trials."""
    wait: bool = True
    """Whether to wait for the last evaluations of other workers, in case they die."""
    poll_seconds: float = 0.5
    """Between looks at what goes on; also before the first retry of what a database has refused."""
    outage_seconds: float = 600.0
    """How long a database that does not answer is tried again."""
    longest_pause: float = 10.0
    """Seconds between two tries, at most; each pause is twice as long as the one before."""

    @classmethod
    def read(
        cls,
        table: Mapping[str, Any],
        options: argparse.Namespace,
        program: Sequence[str],
        goals: Goals | None = None,
    ) -> RunSettings:
        """Return the settings in a table, overridden by options that are not None, and by a program."""
        check_keys(table, RUN_KEYS, "[run]", OLD_RUN_KEYS)
        given = {key: value for key in (*RUN_KEYS, *OLD_RUN_KEYS) if (value := getattr(options, key, None)) is not None}
        settings = {**renamed(table, OLD_RUN_KEYS, "[run]"), **renamed(given, OLD_RUN_KEYS, "the command line")}
        if "budget" not in settings:
            raise SettingsError("how many evaluations? Write budget = 40 below [run], or use --budget 40.")
        timeout, tolerance = settings.get("timeout"), settings.get("tolerance")
        value, logs = settings.get("value", "last-line"), settings.get("logs")
        for name, text in (("value", value), ("logs", logs)):
            if text is not None and not isinstance(text, str):
                raise SettingsError(f"{name} must be a text; received {text!r}.")
        most = 1.0 if goals is not None and goals.several else math.inf
        return cls(
            program=Program(
                tuple(program) or _argv(settings.get("command", ())),
                value,
                () if goals is None else goals.names,
                None if timeout is None else positive(timeout, "timeout"),
                integer(settings.get("retries", 0), "retries", 0),
            ),
            budget=integer(settings["budget"], "budget", 1),
            workers=integer(settings.get("workers", 1), "workers", 1),
            tolerance=None if tolerance is None else positive(tolerance, "tolerance", below=most),
            max_failures=integer(settings.get("max_failures", 20), "max_failures", 1),
            grace=positive(settings.get("grace", 10.0), "grace"),
            heartbeat=integer(settings.get("heartbeat", 30), "heartbeat", 1),
            logs=logs,
            wait=options.wait,
        )


def _argv(command: Any) -> tuple[str, ...]:
    if isinstance(command, str):
        try:
            return tuple(shlex.split(command))
        except ValueError as error:
            raise SettingsError(f"command {command!r} cannot be read: {error}.") from error
    if not isinstance(command, list | tuple) or not all(isinstance(word, str) for word in command):
        raise SettingsError(
            f'command must be a list of texts, such as ["python", "train.py", "{{lr}}"]; received {command!r}.'
        )
    return tuple(command)
