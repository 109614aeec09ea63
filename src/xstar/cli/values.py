"""The values in what a program wrote: a number, or several outputs by name, each maybe with its noise.

    last-line       the last line: a number, or a number and its standard deviation; of several outputs, the last line
                    of each that says yield=81.2, or yield=81.2 ± 0.5, or a JSON object on the last line
    json, json:key  a file: a number, or an object with "value" and maybe "sd"; or what is at a key of it, such as
                    json:metrics.loss. Of several outputs, an object that has these by their names
    regex:pattern   the last match: the group "value" or the first one, and the group "sd"; of several outputs, a group
                    of the name of each

Without any number there is a reason: the evaluation has failed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xstar.cli.told import Told
from xstar.errors import SettingsError


class NoValue(Exception):
    """The program ended well but there is no value."""


def check_how(how: str, outputs: Sequence[str]) -> None:
    """Complain about a setting `value` that makes no sense."""
    kind, _, detail = how.partition(":")
    if kind not in ("last-line", "json", "regex") or (kind == "regex" and not detail):
        raise SettingsError(f"value must be last-line, json, json:KEY or regex:PATTERN; received {how!r}.")
    if kind == "regex":
        try:
            pattern = re.compile(detail)
        except re.error as error:
            raise SettingsError(f"{detail!r} is not a regular expression: {error}.") from error
        if not pattern.groups:
            raise SettingsError(f"the pattern {detail!r} needs a group around the number, such as loss=(\\S+).")
        if outputs and not set(outputs) & set(pattern.groupindex):
            raise SettingsError(
                f"the pattern {detail!r} needs a group of the name of each output, such as (?P<{outputs[0]}>\\S+)."
            )


def read_values(how: str, outputs: Sequence[str], log: Path, result: Path) -> Told:
    """Return what a program has told in its output or its result file; `outputs` are the names of several."""
    kind, _, detail = how.partition(":")
    try:
        if kind == "json":
            found = _from_json(result, detail)
            if not outputs:
                return _one(*_number_of(found))
            return _several(_by_name(found, outputs))
        text = log.read_text(encoding="utf-8", errors="replace")
        if not outputs:
            return _one(*(_from_text(text) if kind == "last-line" else _from_match(text, detail)))
        return _several(_from_lines(text, outputs) if kind == "last-line" else _from_groups(text, detail, outputs))
    except NoValue as error:
        return Told(reason=str(error))


def last_line(text: str) -> str | None:
    """Return the last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), None)


def shorten(text: str, limit: int = 60) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _one(value: float, sd: float | None) -> Told:
    if not math.isfinite(value):
        return Told(reason=f"value was {value}")
    _check_sd(sd)
    return Told(value, sd)


def _several(found: Mapping[str, tuple[float, float | None]]) -> Told:
    """What is told of several outputs: those that are not finite are missing."""
    values = {name: value for name, (value, _) in found.items() if math.isfinite(value)}
    if not values:
        said = ", ".join(f"{name} {value}" for name, (value, _) in found.items())
        return Told(reason=f"values were {said}")
    sds = {name: sd for name, (_, sd) in found.items() if sd is not None and name in values}
    for sd in sds.values():
        _check_sd(sd)
    return Told(values=values, sds=sds)


def _check_sd(sd: float | None) -> None:
    if sd is not None and not 0.0 <= sd < math.inf:
        raise NoValue(f"the standard deviation was {sd}")


def _from_text(text: str) -> tuple[float, float | None]:
    last = last_line(text)
    if last is None:
        raise NoValue("printed nothing, where its last line should be the value")
    try:
        return number_and_sd(last)
    except ValueError:
        raise NoValue(f"its last line is {shorten(last)!r}, not a number") from None


def number_and_sd(text: str) -> tuple[float, float | None]:
    """Return a number and the standard deviation behind it, if there is one; a ValueError if it is none."""
    value, *rest = map(float, text.replace("±", " ").split())
    (sd,) = rest or (None,)
    return value, sd


def _from_lines(text: str, outputs: Sequence[str]) -> dict[str, tuple[float, float | None]]:
    last = last_line(text) or ""
    if last.startswith("{"):
        try:
            return _by_name(json.loads(last), outputs)
        except (ValueError, RecursionError):
            raise NoValue(f"its last line is {shorten(last)!r}, not JSON") from None
    found = {}
    for line in text.splitlines():
        for name in outputs:
            said = re.fullmatch(rf"\s*{re.escape(name)}\s*[=:](.*)", line)
            if said is not None:
                found[name] = said[1].strip()
    if not found:
        raise NoValue(f"printed neither a line such as {outputs[0]}=1.5 nor a JSON object as the last one")
    return {name: _read(name, said) for name, said in found.items()}


def _from_groups(text: str, pattern: str, outputs: Sequence[str]) -> dict[str, tuple[float, float | None]]:
    groups = _last_match(text, pattern).groupdict()
    found = {name: groups[name] for name in outputs if groups.get(name) is not None}
    if not found:
        raise NoValue(f"no output matches {pattern!r}")
    return {name: _read(name, said) for name, said in found.items()}


def _read(name: str, said: str) -> tuple[float, float | None]:
    try:
        return number_and_sd(said)
    except ValueError:
        raise NoValue(f"its output {name!r} is {shorten(said)!r}, not a number") from None


def _last_match(text: str, pattern: str) -> re.Match[str]:
    matches = list(re.finditer(pattern, text, re.MULTILINE))
    if not matches:
        raise NoValue(f"no output matches {pattern!r}")
    return matches[-1]


def _from_match(text: str, pattern: str) -> tuple[float, float | None]:
    match = _last_match(text, pattern)
    groups = match.groupdict()
    found = groups.get("value") or match[1]
    try:
        return float(found), float(groups["sd"]) if groups.get("sd") else None
    except (TypeError, ValueError):
        raise NoValue(f"the output matches {pattern!r} with {found!r}, not a number") from None


def _from_json(path: Path, key: str) -> Any:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoValue("wrote no result file (XSTAR_RESULT_FILE)") from None
    except (OSError, ValueError, RecursionError) as error:
        raise NoValue(f"its result file is not JSON: {error}") from None
    for part in key.split(".") if key else ():
        if not isinstance(found, dict) or part not in found:
            raise NoValue(f"its result file has no {key!r}")
        found = found[part]
    return found


def _by_name(found: Any, outputs: Sequence[str]) -> dict[str, tuple[float, float | None]]:
    """The outputs in a JSON object; what is null is missing."""
    given = {name: found[name] for name in outputs if found.get(name) is not None} if isinstance(found, dict) else {}
    if not given:
        raise NoValue(f"its result has none of {', '.join(outputs)} by name")
    return {name: _number_of(item, f"its result has {name!r} as") for name, item in given.items()}


def _number_of(found: Any, says: str = "its result file has") -> tuple[float, float | None]:
    sd: Any = None
    if isinstance(found, dict):
        found, sd = found.get("value"), found.get("sd")
    numbers = [found] if sd is None else [found, sd]
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in numbers):
        raise NoValue(f"{says} {shorten(repr(found))} where a number should be")
    try:
        return float(found), None if sd is None else float(sd)
    except OverflowError:
        raise NoValue(f"{says} a number that is too large") from None
