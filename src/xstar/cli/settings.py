"""How `xstar run` runs: from [run] in the definition, and from options, which have the last word."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xstar.cli.program import Program
from xstar.errors import SettingsError
from xstar.files.definition import RUN_KEYS, check_keys
from xstar.numerics.checks import integer, positive


@dataclass(frozen=True)
class RunSettings:
    """The settings of a worker."""

    program: Program
    trials: int
    workers: int
    tolerance: float | None
    max_failures: int
    grace: float
    heartbeat: int
    logs: str | None

    @classmethod
    def read(cls, table: Mapping[str, Any], options: argparse.Namespace, program: Sequence[str]) -> RunSettings:
        """The settings in a table, overridden by options that are not None, and by a program."""
        check_keys(table, RUN_KEYS, "[run]")
        given = {key: value for key in RUN_KEYS if (value := getattr(options, key, None)) is not None}
        settings = {**table, **given}
        if "trials" not in settings:
            raise SettingsError("how many trials? Write trials = 40 below [run], or use --trials 40.")
        timeout, tolerance = settings.get("timeout"), settings.get("tolerance")
        value, logs = settings.get("value", "last-line"), settings.get("logs")
        for name, text in (("value", value), ("logs", logs)):
            if text is not None and not isinstance(text, str):
                raise SettingsError(f"{name} must be a text; received {text!r}.")
        return cls(
            program=Program(
                tuple(program) or _argv(settings.get("command", ())),
                value,
                None if timeout is None else positive(timeout, "timeout"),
                integer(settings.get("retries", 0), "retries", 0),
            ),
            trials=integer(settings["trials"], "trials", 1),
            workers=integer(settings.get("workers", 1), "workers", 1),
            tolerance=None if tolerance is None else positive(tolerance, "tolerance"),
            max_failures=integer(settings.get("max_failures", 20), "max_failures", 1),
            grace=positive(settings.get("grace", 10.0), "grace"),
            heartbeat=integer(settings.get("heartbeat", 30), "heartbeat", 1),
            logs=logs,
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
