"""A study described in a TOML file: what varies, what is wanted, how it is run.

    direction = "minimize"

    [parameters]
    lr = { low = 1e-5, high = 1e-1, log = true }
    layers = { low = 1, high = 6 }              # whole numbers, because both bounds are written as such
    dropout = { low = 0.0, high = 0.5, step = 0.05 }
    temperature = { type = "real", low = 20, high = 90, unit = "°C" }
    batch = { levels = [16, 32, 64] }
    activation = ["relu", "gelu"]

    [run]
    budget = 40

Several outputs have tables of their own, in place of the direction:

    [objectives]
    yield = { direction = "maximize", unit = "%" }
    cost = "minimize"

    [constraints]
    impurity = "<= 0.5"

A table that describes a study can be stored with it and read back: `Definition.parse(definition.table)`.
"""

from __future__ import annotations

import difflib
import re
import tomllib
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xstar.direction import Direction
from xstar.errors import FileError, SettingsError, SpaceError, XstarError
from xstar.goals import Constraint, Goals, Objective
from xstar.methods import METHODS
from xstar.numerics.checks import integer, positive
from xstar.space import Categorical, Integer, Ordinal, Parameter, Real, Space, naming
from xstar.trial import check_sd

KEYS = (
    "name", "direction", "storage", "method", "seed", "noise", "num_initial", "stale_after", "result", "unit",
    "objectives", "constraints", "parameters", "run",
)  # fmt: skip
RUN_KEYS = (
    "command", "budget", "workers", "timeout", "retries", "value", "tolerance", "max_failures", "grace", "heartbeat",
    "logs",
)  # fmt: skip
OLD_KEYS, OLD_RUN_KEYS = {"initial": "num_initial"}, {"trials": "budget"}
"""Names that settings of a study and of [run] had once; they still work."""
OBJECTIVE_KEYS, CONSTRAINT_KEYS = ("direction", "reference", "unit"), ("bound", "unit")
BOUND = re.compile(r"\s*(<=|>=|≤|≥)\s*(\S+)\s*")
PARAMETER_KEYS = ("type", "low", "high", "log", "step", "choices", "descriptors", "levels", "unit")


@dataclass(frozen=True)
class Definition:
    """What a study is about.

    Parameters
    ----------
    name : str
        Of the study in its database.
    direction : {"maximize", "minimize"}
        Whether larger or smaller values are better; of several outputs, that of the first objective.
    space : Space
        What may be varied.
    units : dict of str
        The units of parameters, for the headers of tables.
    result : str
        What the values are called, in tables.
    unit : str, optional
        Their unit.
    goals : Goals, optional
        Objectives and constraints, where there are several outputs.
    output_units : dict of str
        The units of outputs that have one.
    storage : str, optional
        A file name or the URL of a database; by default a SQLite file beside the definition.
    method : str
        How points are chosen, as for `Optimizer`.
    seed : int
        A whole number.
    noise : float or dict, optional
        The standard deviation of every value; by default it is learned. Of several outputs, one for all or by name.
    num_initial : int, optional
        Evaluations that fill the space before the model is asked.
    stale_after : float, optional
        Seconds after which an evaluation that has not ended is counted on no longer.
    run : dict, optional
        Settings of `xstar run`.
    table : dict, optional
        What the definition was parsed from, with the present names of all settings.
    whole_by_bounds : frozenset of str
        The parameters that are whole numbers because their bounds are written as such, and not because a type says so.

    Examples
    --------
    >>> from xstar.files.definition import Definition
    >>> definition = Definition.parse({"direction": "minimize", "parameters": {"k": {"low": 1, "high": 6}}})
    >>> definition.space
    Space(k=Integer(1, 6))
    """

    name: str
    direction: str
    space: Space
    units: Mapping[str, str]
    result: str = "value"
    unit: str | None = None
    storage: str | None = None
    method: str = "pes"
    seed: int = 0
    noise: float | Mapping[str, float] | None = None
    num_initial: int | None = None
    stale_after: float | None = None
    run: Mapping[str, Any] | None = None
    table: Mapping[str, Any] | None = None
    whole_by_bounds: frozenset[str] = frozenset()
    goals: Goals | None = None
    output_units: Mapping[str, str] = field(default_factory=dict)

    @property
    def named_outputs(self) -> dict[str, Any]:
        """Objectives and constraints as `Optimizer` takes them, where there are several outputs."""
        return {} if self.goals is None else dict(vars(self.goals))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what is measured: of the result, or of several outputs."""
        return (self.result,) if self.goals is None else self.goals.names

    @classmethod
    def read(cls, path: str | Path) -> Definition:
        """Read the definition in a TOML file.

        Parameters
        ----------
        path : str or Path
            Of the file; a study without a name has that of the file.

        Returns
        -------
        Definition
            What the file says.

        Raises
        ------
        FileError
            If the file is not there, is not TOML, or describes no study.
        """
        path = Path(path)
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError as error:
            raise FileError(f"there is no file {str(path)!r}.") from error
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"{str(path)!r} cannot be read: {error}.") from error
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits, brackets without end
            raise FileError(f"{str(path)!r} is not valid TOML: {error}.") from error
        try:
            return cls.parse(table, path.stem)
        except XstarError as error:
            raise FileError(f"{str(path)!r}: {error}") from error

    @classmethod
    def parse(cls, table: Mapping[str, Any], name: str = "study") -> Definition:
        """Return the definition in a table, as a TOML file has it.

        Parameters
        ----------
        table : dict
            The settings by name.
        name : str
            Of the study, if the table has none.

        Returns
        -------
        Definition
            What the table says.

        Raises
        ------
        SettingsError
            If a setting is not known or makes no sense.
        SpaceError
            If the parameters make no sense.

        Warns
        -----
        DeprecationWarning
            If a setting has its old name: `initial` is `num_initial` now.
        """
        for key in table:
            if key in RUN_KEYS or key in OLD_RUN_KEYS:
                raise SettingsError(f"the setting {key!r} belongs below [run].")
        _refuse_nul(table)
        check_keys(table, KEYS, "the study", OLD_KEYS)
        table = renamed(table, OLD_KEYS, "the study")
        result, unit = _text(table, "result") or "value", _text(table, "unit")
        goals, output_units = _goals(table, result)
        if unit is not None:
            output_units[result] = unit
        direction = Direction.parse(table.get("direction")) if goals is None else goals.direction(goals.names[0])
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
        space = Space({key: _parameter(key, described) for key, described in parameters.items()})
        both = [] if goals is None else [output for output in goals.names if output in space.parameters]
        if both:
            raise SettingsError(f'"{both[0]}" is the name of a parameter and of an output; rename one of them.')
        noise, num_initial, stale_after = table.get("noise"), table.get("num_initial"), table.get("stale_after")
        return cls(
            name=_text(table, "name") or name,
            direction=direction,
            space=space,
            units={key: parameter.unit for key, parameter in space.parameters.items() if parameter.unit is not None},
            result=result,
            unit=unit,
            goals=goals,
            output_units=output_units,
            storage=_text(table, "storage"),
            method=method,
            seed=integer(table.get("seed", 0), "seed", 0),
            noise=_noise(noise, goals),
            num_initial=None if num_initial is None else integer(num_initial, "num_initial", 1),
            stale_after=None if stale_after is None else positive(stale_after, "stale_after"),
            run=run,
            table=table,
            whole_by_bounds=frozenset(
                key for key, parameter in space.parameters.items()
                if isinstance(parameter, Integer) and "type" not in parameters[key]
            ),
        )  # fmt: skip


def _refuse_nul(found: Any) -> None:
    """Complain about the one letter that programs, databases and spreadsheets take for the end of a text."""
    if isinstance(found, str) and "\0" in found:
        raise SettingsError(f"the text {found!r} has \\0 in it, which no program can be given; leave it out.")
    parts = [*found, *found.values()] if isinstance(found, Mapping) else found if isinstance(found, list) else []
    for part in parts:
        _refuse_nul(part)


def _text(table: Mapping[str, Any], key: str) -> str | None:
    text = table.get(key)
    if text is not None and (not isinstance(text, str) or not text.strip()):
        raise SettingsError(f"{key} must be a text that is not empty; received {text!r}.")
    return text


def _goals(table: Mapping[str, Any], result: str) -> tuple[Goals | None, dict[str, str]]:
    """What is wanted of several outputs, and the units of these; no goals if there is one output."""
    if "objectives" not in table and "constraints" not in table:
        return None, {}
    if "objectives" in table:
        for key in ("direction", "result", "unit"):
            if key in table:
                raise SettingsError(
                    f"{key} is that of a single output; with [objectives], each output has its own, so leave it out."
                )
    units: dict[str, str] = {}
    constraints = {
        name: _constraint(name, described, units) for name, described in _outputs(table, "constraints").items()
    }
    objectives = (
        {name: _objective(name, described, units) for name, described in _outputs(table, "objectives").items()}
        if "objectives" in table
        else {result: Objective(Direction.parse(table.get("direction")))}
    )
    return Goals.check(objectives, constraints), units


def _outputs(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The outputs below [objectives] or [constraints]."""
    found = table.get(key, {})
    if not isinstance(found, Mapping) or (key in table and not found):
        example = 'yield = "maximize"' if key == "objectives" else 'impurity = "<= 0.5"'
        raise SettingsError(f"{key} must be a table, [{key}] and below it such as {example}; received {found!r}.")
    return found


def _objective(name: str, described: Any, units: dict[str, str]) -> Objective:
    given = described if isinstance(described, Mapping) else {"direction": described}
    check_keys(given, OBJECTIVE_KEYS, f'objective "{name}"')
    _note_unit(name, given, units)
    if given.get("direction") not in list(Direction):
        raise SettingsError(
            f'objective "{name}" must be "maximize" or "minimize"; received {given.get("direction")!r}.'
        )
    return Objective(given["direction"], given.get("reference"))


def _constraint(name: str, described: Any, units: dict[str, str]) -> Constraint:
    given = described if isinstance(described, Mapping) else {"bound": described}
    check_keys(given, CONSTRAINT_KEYS, f'constraint "{name}"')
    _note_unit(name, given, units)
    found = BOUND.fullmatch(given["bound"]) if isinstance(given.get("bound"), str) else None
    if found is None:
        raise SettingsError(f'constraint "{name}" must be a text such as "<= 0.5"; received {given.get("bound")!r}.')
    try:
        bound = float(found[2])
    except ValueError:
        raise SettingsError(f'the bound of constraint "{name}" must be a number; received {found[2]!r}.') from None
    return Constraint({"≤": "<=", "≥": ">="}.get(found[1], found[1]), bound)


def _note_unit(name: str, given: Mapping[str, Any], units: dict[str, str]) -> None:
    unit = _text(given, "unit")
    if unit is not None:
        units[name] = unit


def _noise(noise: Any, goals: Goals | None) -> float | dict[str, float] | None:
    if isinstance(noise, Mapping) and goals is not None:
        return {name: check_sd(sd, f"noise of {name!r}") for name, sd in goals.known(noise).items()}
    return None if noise is None else check_sd(noise, "noise")


def _parameter(name: str, described: Any) -> Parameter:
    with naming(name):
        return _described(name, described)


def _described(name: str, described: Any) -> Parameter:
    if isinstance(described, list):
        return _choices(name, described)
    if not isinstance(described, Mapping):
        raise SpaceError(
            f'parameter "{name}" must be a list of choices or a table such as {{ low = 0.0, high = 1.0 }}; received '
            f"{described!r}."
        )
    check_keys(described, PARAMETER_KEYS, f'parameter "{name}"')
    unit = described.get("unit")
    if "choices" in described:
        check_keys(described, ("choices", "descriptors", "unit"), f'parameter "{name}", which has choices,')
        return _choices(name, described["choices"], described.get("descriptors"), unit)
    if "levels" in described:
        check_keys(described, ("levels", "unit"), f'parameter "{name}", which has levels,')
        return Ordinal(_checked(name, described["levels"], "level"), unit)
    if "descriptors" in described:
        raise SpaceError(f'parameter "{name}" has descriptors and no choices.')
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
    return Integer(**settings, unit=unit) if kind == "integer" else Real(**settings, unit=unit)


def _choices(name: str, choices: Any, descriptors: Any = None, unit: Any = None) -> Categorical:
    checked = _checked(name, choices, "choice")
    if isinstance(descriptors, Mapping) and isinstance(checked, list):
        # The keys of a table are texts, also those of choices that are numbers.
        own = {str(choice): choice for choice in checked}
        unknown = [key for key in descriptors if key not in own]
        if unknown:
            raise SpaceError(f'parameter "{name}" has descriptors for {unknown[0]!r}, which is not one of its choices.')
        descriptors = {own[key]: row for key, row in descriptors.items()}
    return Categorical(checked, descriptors, unit)


def _checked(name: str, values: Any, kind: str) -> Any:
    """Values as TOML has them: no lists, tables or dates."""
    for value in values if isinstance(values, list) else ():
        if value is not None and not isinstance(value, str | int | float | bool):
            raise SpaceError(f'parameter "{name}" has the {kind} {value!r}; {kind}s are texts, numbers, true or false.')
    return values


def renamed(table: Mapping[str, Any], old_names: Mapping[str, str], whose: str) -> dict[str, Any]:
    """Return settings by their present names, with a `DeprecationWarning` for each that has an old one."""
    for old, new in old_names.items():
        if old in table and new in table:
            raise SettingsError(f"{whose} has {old!r} and {new!r}, which mean the same; leave {old!r} out.")
        if old in table:
            warnings.warn(f"{whose}: {old!r} is called {new!r} now.", DeprecationWarning, stacklevel=3)
    return {old_names.get(key, key): value for key, value in table.items()}


def check_keys(table: Mapping[str, Any], known: Iterable[str], whose: str, old: Collection[str] = ()) -> None:
    """Complain about settings that there are not, with what may have been meant; `old` names are known too."""
    for key in table:
        if key not in known and key not in old:
            meant = difflib.get_close_matches(key, list(known), n=1)
            hint = f"; did you mean {meant[0]}?" if meant else f"; what it may have is {', '.join(known)}."
            raise SettingsError(f"{whose} has no setting {key!r}{hint}")
