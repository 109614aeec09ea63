"""A program as the function: its arguments are the parameters, its output is the value.

The parameters reach the program in three ways, of which it uses the one it likes:

    placeholders    {lr} in its arguments; {trial}, {params_file}, {result_file} as well
    environment     XSTAR_PARAM_LR, XSTAR_PARAMS (all of them, as JSON), XSTAR_TRIAL
    a JSON file     named by XSTAR_PARAMS_FILE

and the value comes back in its output or in the file named by XSTAR_RESULT_FILE, as the setting `value` says (see
`values`).

An exit code other than 0, a time-out, or no value is a failure.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from xstar.cli.guardian import Guardian
from xstar.cli.told import Told
from xstar.cli.values import check_how, last_line, read_values, shorten
from xstar.errors import SettingsError

WORD = r"[^{}\s\"':,]+"
"""What is taken for a name between braces, even if there is no such parameter."""
OWN = ("trial", "params_file", "result_file")
"""Placeholders that are not parameters."""


class Interrupted(Exception):
    """The evaluation was stopped from outside: it says nothing about the point."""


@dataclass(frozen=True)
class Outcome:
    """What an evaluation gave."""

    told: Told
    seconds: float


@dataclass(frozen=True)
class Program:
    """A command, and how to read its result."""

    argv: tuple[str, ...]
    value: str = "last-line"
    outputs: tuple[str, ...] = ()
    """The names of several outputs."""
    timeout: float | None = None
    retries: int = 0
    poll_seconds: float = 0.1
    """Between looks at whether the program should be stopped."""
    terminate_seconds: float = 5.0
    """That a program has to end after it was told to."""

    def check(self, names: list[str]) -> None:
        """Complain about a command that cannot work, before anything is begun."""
        if not self.argv:
            raise SettingsError(
                "there is no command to run; write it after two dashes, for example: xstar run study.toml -- python "
                "train.py {lr}, or as command = [...] below [run]."
            )
        variables: dict[str, str] = {}
        for name in names:
            other = variables.setdefault(_variable(name), name)
            if "{" in name or "}" in name:
                raise SettingsError(f"the parameter {name!r} has braces, which enclose placeholders; rename it.")
            if name in OWN or other != name:
                what = (
                    f"the placeholder {{{name}}}" if name in OWN else f"the variable {_variable(name)} with {other!r}"
                )
                raise SettingsError(f"the parameter {name!r} shares {what}; give it another name.")
        known = [*names, *OWN]
        placeholder = _placeholder(known)
        for argument in self.argv:
            for found in placeholder.finditer(argument):
                if found[2] is not None and found[2] not in known:
                    raise SettingsError(
                        f"the command has a placeholder {{{found[2]}}}, but the parameters are {', '.join(names)}; "
                        f"write {{{{{found[2]}}}}} for the text itself."
                    )
        if not placeholder.search(self.argv[0]) and shutil.which(self.argv[0]) is None:
            raise SettingsError(f"there is no program {self.argv[0]!r}.")
        check_how(self.value, self.outputs)

    def evaluate(
        self,
        number: int,
        params: Mapping[str, Any],
        folder: Path,
        stop: threading.Event,
        guardian: Guardian | None = None,
    ) -> Outcome:
        """Run the program for a trial, its files in `folder`; again if it fails, as often as allowed.

        `guardian` ends it if this process goes meanwhile.
        """
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        files = {"params_file": folder / "params.json", "result_file": folder / "result.json"}
        text = as_json(params)
        (folder / "outcome.json").unlink(missing_ok=True)
        files["params_file"].write_text(text + "\n", encoding="utf-8")
        known = {**files, "trial": number, **params}
        placeholder = _placeholder(known)
        argv = [_fill(argument, placeholder, known) for argument in self.argv]
        environment = {
            **os.environ,
            **{_variable(name): str(value) for name, value in params.items()},
            "XSTAR_PARAMS": text,
            "XSTAR_TRIAL": str(number),
            **{f"XSTAR_{name.upper()}": str(path) for name, path in files.items()},
            **({} if guardian is None else guardian.environment),
        }
        began = time.monotonic()
        for attempt in range(1, self.retries + 2):
            if stop.is_set():
                raise Interrupted
            files["result_file"].unlink(missing_ok=True)
            log = folder / ("stdout.txt" if attempt == 1 else f"stdout.{attempt}.txt")
            reason, again = self._run(argv, environment, log, stop, guardian)
            told = Told(reason=reason)
            if reason is None:
                told = read_values(self.value, self.outputs, log, files["result_file"])
            if not told.failed or not again:
                break
        outcome = Outcome(told, time.monotonic() - began)
        said = {key: item for key, item in asdict(told).items() if told.values or key not in ("values", "sds")}
        summary = {**said, "seconds": outcome.seconds, "attempts": attempt, "params": text}
        # Where the disk is full by now, the study may still take the value.
        with contextlib.suppress(OSError):
            (folder / "outcome.json").write_text(json.dumps(summary) + "\n", encoding="utf-8")
        return outcome

    def _run(
        self, argv: list[str], environment: dict[str, str], log: Path, stop: threading.Event, guardian: Guardian | None
    ) -> tuple[str | None, bool]:
        """Why it failed, if it did, and whether trying again may help."""
        errors = log.with_name(log.name.replace("stdout", "stderr"))
        deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
        with log.open("wb") as out, errors.open("wb") as err, contextlib.ExitStack() as watched:
            try:
                # A session of its own: Ctrl-C reaches xstar alone, and what the program starts can be ended with it.
                process = subprocess.Popen(
                    argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, start_new_session=True
                )
            except (OSError, ValueError) as error:
                return f"could not be started: {getattr(error, 'strerror', None) or error}", False
            if guardian is not None:
                watched.enter_context(guardian.watching(process.pid))
            while True:
                try:
                    code = process.wait(self.poll_seconds)
                    break
                except subprocess.TimeoutExpired:
                    if stop.is_set():
                        _end(process, self.terminate_seconds)
                        raise Interrupted from None
                    if time.monotonic() > deadline:
                        _end(process, self.terminate_seconds)
                        return f"timed out after {self.timeout:g} s", False
        if code == 0:
            return None, True
        if code < 0:
            known = {item.value: item.name for item in signal.Signals}
            return f"killed by signal {known.get(-code, -code)}", True
        said = last_line(errors.read_text(encoding="utf-8", errors="replace"))
        return f"exit code {code}" + (f": {shorten(said)}" if said else ""), True


def as_json(params: Mapping[str, Any]) -> str:
    """Return parameters as a program gets them."""
    return json.dumps(dict(params), ensure_ascii=False, default=repr)


def _variable(name: str) -> str:
    """The environment variable of a parameter."""
    return "XSTAR_PARAM_" + re.sub(r"\W", "_", name).upper()


def _placeholder(names: Iterable[str]) -> re.Pattern[str]:
    """{{name}}, which stands for {name} itself, or {name}; the known `names` may have any letters in them."""
    known = "|".join([*map(re.escape, sorted(names, key=len, reverse=True)), WORD])
    return re.compile(rf"\{{(\{{(?:{known})\}})\}}|\{{({known})\}}")


def _fill(argument: str, placeholder: re.Pattern[str], known: Mapping[str, Any]) -> str:
    def text(found: re.Match[str]) -> str:
        return found[1] or str(known[found[2]])

    return placeholder.sub(text, argument)


def _end(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Ask the program and all it has started to end, then make it."""
    _signal(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    if os.name == "posix":
        _signal(process, signal.SIGKILL)  # also what the program has left behind
    else:
        process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _signal(process: subprocess.Popen[bytes], what: signal.Signals) -> None:
    if os.name == "posix":
        # What runs as another user cannot be ended; its worker goes on all the same.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, what)
    else:
        process.terminate()
