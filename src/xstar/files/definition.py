"""A study described in a TOML file: what varies, what is wanted, how it is run.

    direction = "minimize"

    [parameters]
    lr = { low = 1e-5, high = 1e-1, log = true }
    layers = { low = 1, high = 6 }              # whole numbers, because both bounds are written as such
    dropout = { low = 0.0, high = 0.5, step = 0.05 }
    activation = ["relu", "gelu"]

    [run]
    trials = 40

A table that describes a study can be stored with it and read back: `Definition.parse(definition.table)`.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xstar.errors import FileError, SettingsError, SpaceError, XstarError
from xstar.methods import METHODS
from xstar.numerics.checks import integer, positive
from xstar.space import Categorical, Integer, Parameter, Real, Space
from xstar.trial import check_sd

KEYS = (
    "name", "direction", "storage", "method", "seed", "noise", "initial", "stale_after", "result", "unit",
    "parameters", "run",
)  # fmt: skip
RUN_KEYS = (
    "command", "trials", "workers", "timeout", "retries", "value", "tolerance", "max_failures", "grace", "heartbeat",
    "logs",
)  # fmt: skip
PARAMETER_KEYS = ("type", "low", "high", "log", "step", "choices", "unit")


@dataclass(frozen=True)
class Definition:
    """What a study is about."""

    name: str
    direction: str
    space: Space
    units: Mapping[str, str]
    """The units of parameters, for the headers of tables."""
    result: str = "value"
    """What the values are called, in tables."""
    unit: str | None = None
    """Their unit."""
    storage: str | None = None
    """The URL of a database; by default a SQLite file beside the definition."""
    method: str = "pes"
    seed: int = 0
    noise: float | None = None
    initial: int | None = None
    stale_after: float | None = None
    """Seconds after which an evaluation that has not ended is counted on no longer."""
    run: Mapping[str, Any] | None = None
    """Settings of `xstar run`."""
    table: Mapping[str, Any] | None = None
    """What it was parsed from."""

    @classmethod
    def read(cls, path: str | Path) -> Definition:
        """The definition in a TOML file; what is wrong with it, if anything, is said in one `FileError`."""
        path = Path(path)
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError as error:
            raise FileError(f"there is no file {str(path)!r}.") from error
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"{str(path)!r} cannot be read: {error}.") from error
        except tomllib.TOMLDecodeError as error:
            raise FileError(f"{str(path)!r} is not valid TOML: {error}.") from error
        try:
            return cls.parse(table, path.stem)
        except XstarError as error:
            raise FileError(f"{str(path)!r}: {error}") from error

    @classmethod
    def parse(cls, table: Mapping[str, Any], name: str = "study") -> Definition:
        """The definition in a table of a TOML file."""
        for key in table:
            if key in RUN_KEYS:
                raise SettingsError(f"the setting {key!r} belongs below [run].")
        check_keys(table, KEYS, "the study")
        direction = table.get("direction")
        if direction not in ("maximize", "minimize"):
            raise SettingsError(f'direction must be "maximize" or "minimize"; received {direction!r}.')
        method = table.get("method", "pes")
        if not isinstance(method, str) or method not in METHODS:
            raise SettingsError(f"method must be one of {', '.join(METHODS)}; received {method!r}.")
        parameters = table.get("parameters")
        if not isinstance(parameters, Mapping) or not parameters:
            raise SpaceError(
                "a study needs parameters, for example [parameters] and below it: lr = { low = 1e-5, high = 1e-1, "
                "log = true }."
            )
        run = table.get("run", {})
        if not isinstance(run, Mapping):
            raise SettingsError(f"run must be a table, [run]; received {run!r}.")
        noise, initial, stale_after = table.get("noise"), table.get("initial"), table.get("stale_after")
        return cls(
            name=_text(table, "name") or name,
            direction=direction,
            space=Space({key: _parameter(key, described) for key, described in parameters.items()}),
            units={
                key: str(described["unit"])
                for key, described in parameters.items()
                if isinstance(described, Mapping) and "unit" in described
            },
            result=_text(table, "result") or "value",
            unit=_text(table, "unit"),
            storage=_text(table, "storage"),
            method=method,
            seed=integer(table.get("seed", 0), "seed", 0),
            noise=None if noise is None else check_sd(noise, "noise"),
            initial=None if initial is None else integer(initial, "initial", 1),
            stale_after=None if stale_after is None else positive(stale_after, "stale_after"),
            run=run,
            table=table,
        )


def _text(table: Mapping[str, Any], key: str) -> str | None:
    text = table.get(key)
    if text is not None and (not isinstance(text, str) or not text.strip()):
        raise SettingsError(f"{key} must be a text that is not empty; received {text!r}.")
    return text


def _parameter(name: str, described: Any) -> Parameter:
    if isinstance(described, list):
        return _choices(name, described)
    if not isinstance(described, Mapping):
        raise SpaceError(
            f'parameter "{name}" must be a list of choices or a table such as {{ low = 0.0, high = 1.0 }}; received '
            f"{described!r}."
        )
    check_keys(described, PARAMETER_KEYS, f'parameter "{name}"')
    if "choices" in described:
        check_keys(described, ("choices", "unit"), f'parameter "{name}", which has choices,')
        return _choices(name, described["choices"])
    for end in ("low", "high"):
        if end not in described:
            raise SpaceError(f'parameter "{name}" has no {end}; write {name} = {{ low = 0.0, high = 1.0 }}.')
    numbers = [described[key] for key in ("low", "high", "step") if key in described]
    kind = described.get("type", "integer" if all(type(number) is int for number in numbers) else "real")
    if kind not in ("real", "integer"):
        raise SpaceError(f'parameter "{name}" has the type {kind!r}; it must be "real" or "integer".')
    settings = {key: described[key] for key in ("low", "high", "log", "step") if key in described}
    if not isinstance(settings.get("log", False), bool):
        raise SpaceError(f'parameter "{name}" has log = {settings["log"]!r}; it must be true or false.')
    return Integer(**settings) if kind == "integer" else Real(**settings)


def _choices(name: str, choices: Any) -> Categorical:
    for choice in choices if isinstance(choices, list) else ():
        if choice is not None and not isinstance(choice, str | int | float | bool):
            raise SpaceError(
                f'parameter "{name}" has the choice {choice!r}; choices are texts, numbers, true or false.'
            )
    return Categorical(choices)


def check_keys(table: Mapping[str, Any], known: Iterable[str], whose: str) -> None:
    """Complain about settings that there are not, with what may have been meant."""
    for key in table:
        if key not in known:
            meant = difflib.get_close_matches(key, list(known), n=1)
            hint = f"; did you mean {meant[0]}?" if meant else f"; what it may have is {', '.join(known)}."
            raise SettingsError(f"{whose} has no setting {key!r}{hint}")
