"""A program as the function: its arguments are the parameters, its output is the value.

The parameters reach the program in three ways, of which it uses the one it likes:

    placeholders    {lr} in its arguments; {trial}, {params_file}, {result_file} as well
    environment     XSTAR_PARAM_LR, XSTAR_PARAMS (all of them, as JSON), XSTAR_TRIAL
    a JSON file     named by XSTAR_PARAMS_FILE

and the value comes back in one of three, by the setting `value`:

    last-line       the last line of its output: a number, or a number and its standard deviation
    json, json:key  the file named by XSTAR_RESULT_FILE: a number, or an object with "value" and maybe "sd"; or the
                    number at a key of it, such as json:metrics.loss
    regex:pattern   the last match in its output: the group "value" or the first one, and the group "sd"

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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xstar.cli.guardian import Guardian
from xstar.errors import SettingsError

PLACEHOLDER = re.compile(r"\{(\{[^{}\s\"':,]+\})\}|\{([^{}\s\"':,]+)\}")
"""{{name}}, which stands for {name} itself, or {name}."""
OWN = ("trial", "params_file", "result_file")
"""Placeholders that are not parameters."""


class Interrupted(Exception):
    """The evaluation was stopped from outside: it says nothing about the point."""


@dataclass(frozen=True)
class Outcome:
    """What an evaluation gave."""

    value: float | None
    """None for a failure."""
    sd: float | None
    reason: str | None
    """Why it failed."""
    seconds: float


@dataclass(frozen=True)
class Program:
    """A command, and how to read its result."""

    argv: tuple[str, ...]
    value: str = "last-line"
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
            if name in OWN or other != name:
                what = (
                    f"the placeholder {{{name}}}" if name in OWN else f"the variable {_variable(name)} with {other!r}"
                )
                raise SettingsError(f"the parameter {name!r} shares {what}; give it another name.")
        known = [*names, *OWN]
        for argument in self.argv:
            for found in PLACEHOLDER.finditer(argument):
                if found[2] is not None and found[2] not in known:
                    raise SettingsError(
                        f"the command has a placeholder {{{found[2]}}}, but the parameters are {', '.join(names)}; "
                        f"write {{{{{found[2]}}}}} for the text itself."
                    )
        if not PLACEHOLDER.search(self.argv[0]) and shutil.which(self.argv[0]) is None:
            raise SettingsError(f"there is no program {self.argv[0]!r}.")
        kind, _, detail = self.value.partition(":")
        if kind not in ("last-line", "json", "regex") or (kind == "regex" and not detail):
            raise SettingsError(f"value must be last-line, json, json:KEY or regex:PATTERN; received {self.value!r}.")
        if kind == "regex":
            try:
                pattern = re.compile(detail)
            except re.error as error:
                raise SettingsError(f"{detail!r} is not a regular expression: {error}.") from error
            if not pattern.groups:
                raise SettingsError(f"the pattern {detail!r} needs a group around the number, such as loss=(\\S+).")

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
        argv = [_fill(argument, known) for argument in self.argv]
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
            value, sd = None, None
            if reason is None:
                value, sd, reason = self._read(log, files["result_file"])
            if reason is None or not again:
                break
        outcome = Outcome(value, sd, reason, time.monotonic() - began)
        summary = {
            "value": value, "sd": sd, "reason": reason, "seconds": outcome.seconds, "attempts": attempt, "params": text,
        }  # fmt: skip
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
        said = _last_line(errors.read_text(encoding="utf-8", errors="replace"))
        return f"exit code {code}" + (f": {_shorten(said)}" if said else ""), True

    def _read(self, log: Path, result: Path) -> tuple[float | None, float | None, str | None]:
        """Value, noise, and why there is no value."""
        kind, _, detail = self.value.partition(":")
        try:
            if kind == "json":
                value, sd = _from_json(result, detail)
            else:
                text = log.read_text(encoding="utf-8", errors="replace")
                value, sd = _from_text(text) if kind == "last-line" else _from_match(text, detail)
        except _NoValue as error:
            return None, None, str(error)
        if not math.isfinite(value):
            return None, None, f"value was {value}"
        if sd is not None and not 0.0 <= sd < math.inf:
            return None, None, f"the standard deviation was {sd}"
        return value, sd, None


class _NoValue(Exception):
    """The program ended well but there is no value."""


def as_json(params: Mapping[str, Any]) -> str:
    """Return parameters as a program gets them."""
    return json.dumps(dict(params), ensure_ascii=False, default=repr)


def _variable(name: str) -> str:
    """The environment variable of a parameter."""
    return "XSTAR_PARAM_" + re.sub(r"\W", "_", name).upper()


def _fill(argument: str, known: Mapping[str, Any]) -> str:
    def text(found: re.Match[str]) -> str:
        return found[1] or str(known[found[2]])

    return PLACEHOLDER.sub(text, argument)


def _from_text(text: str) -> tuple[float, float | None]:
    last = _last_line(text)
    if last is None:
        raise _NoValue("printed nothing, where its last line should be the value")
    words = last.replace("±", " ").split()
    try:
        value, *rest = map(float, words)
        (sd,) = rest or (None,)
    except ValueError:
        raise _NoValue(f"its last line is {_shorten(last)!r}, not a number") from None
    return value, sd


def _from_match(text: str, pattern: str) -> tuple[float, float | None]:
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not matches:
        raise _NoValue(f"no output matches {pattern!r}")
    groups = matches[-1].groupdict()
    found = groups.get("value") or matches[-1][1]
    try:
        return float(found), float(groups["sd"]) if groups.get("sd") else None
    except (TypeError, ValueError):
        raise _NoValue(f"the output matches {pattern!r} with {found!r}, not a number") from None


def _from_json(path: Path, key: str) -> tuple[float, float | None]:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _NoValue("wrote no result file (XSTAR_RESULT_FILE)") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _NoValue(f"its result file is not JSON: {error}") from None
    sd: Any = None
    for part in key.split(".") if key else ():
        if not isinstance(found, dict) or part not in found:
            raise _NoValue(f"its result file has no {key!r}")
        found = found[part]
    if isinstance(found, dict):
        found, sd = found.get("value"), found.get("sd")
    numbers = [found] if sd is None else [found, sd]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        raise _NoValue(f"its result file has {_shorten(repr(found))} where a number should be")
    try:
        return float(found), None if sd is None else float(sd)
    except OverflowError:
        raise _NoValue("its result file has a number that is too large") from None


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


def _last_line(text: str) -> str | None:
    """The last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), None)


def _shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
