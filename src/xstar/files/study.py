"""Studies as JSON files: written whole or not at all, read back to the same next suggestion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xstar import acquisition, entropy, gp, search
from xstar.errors import FileError, XstarError
from xstar.feasibility import FeasibilitySettings
from xstar.files.atomic import write_text
from xstar.files.json_data import as_json_data
from xstar.goals import Constraint, Goals, Objective
from xstar.methods import Balance, Method, ModelSettings, WarpSettings
from xstar.numerics.arrays import to_numpy
from xstar.space import Categorical, Integer, Listed, Ordinal, Parameter, Real, Space, naming
from xstar.trial import STATES, Trial, check_sd, check_value, renamed_diagnostics
from xstar.version import __version__

FORMAT = "xstar study"
VERSION = 2
ONE_OUTPUT = 1
"""The version that studies of one output are written in: those of 0.1 read them."""
SETTINGS = (
    Method, gp.SquaredExponential, gp.Matern52, gp.Fixed, gp.MAP, gp.SliceSampling, gp.PosteriorMean, gp.Prior,
    gp.CommonScale, gp.Gamma, gp.Hyperparameters, acquisition.PES, acquisition.ES, acquisition.EI, acquisition.LogEI,
    acquisition.MES, acquisition.Thompson, acquisition.PESSettings, acquisition.ESSettings, gp.ApproximationSettings,
    entropy.MaximizerSettings, entropy.ConditioningSettings, entropy.EPSettings, search.SearchSettings,
    ModelSettings, WarpSettings, FeasibilitySettings, Balance,
)  # fmt: skip
"""What a method may be made of."""
KINDS = {kind.__name__: kind for kind in SETTINGS}
RETIRED = {"SliceSampling": ("width",)}
"""Settings that older files have and that nobody needs any more."""
RENAMED = {"MAP": {"num_scouts": "num_prior_draws"}, "PES": {"num_rivals": "num_competitors"}}
"""Settings that older files have by other names."""
MISSING: dict[str, dict[str, Any]] = {
    "Method": {"balance": None},
    "ModelSettings": {"caution": 0.0, "caution_among_tested": 0.0},
}
"""Settings that older files lack, as they were then."""
WRONG = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)
"""What is raised when a file has something else where it should have numbers, texts, lists or objects."""
PARAMETERS: dict[str, type[Parameter]] = {
    "real": Real,
    "integer": Integer,
    "categorical": Categorical,
    "ordinal": Ordinal,
}


class SavedStudy(NamedTuple):
    """All that an optimizer is made of."""

    space: Space
    direction: str
    method: str | Method
    seed: int
    noise: float | Mapping[str, float] | None
    num_initial: int
    threads: int | None
    trials: tuple[Trial, ...]
    goals: Goals | None = None


def write(path: str | Path, study: SavedStudy) -> None:
    """Write a study: to a file beside it first, which then takes its name, so that a crash leaves the old one."""
    text = json.dumps(_describe(study), indent=1)
    write_text(Path(path), text + "\n")


def read(path: str | Path) -> SavedStudy:
    """Read the study in a file; what is wrong with it, if anything, is said in one `FileError`."""
    name = str(path)
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FileError(f"there is no file {name!r}.") from error
    except (OSError, ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise FileError(f"{name!r} cannot be read as a study: {error}.") from error
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise FileError(f'{name!r} is not a study: it lacks "format": "{FORMAT}".')
    if not isinstance(stored.get("version"), int) or stored["version"] > VERSION:
        raise FileError(
            f"{name!r} has version {stored.get('version')!r} of the format, written by xstar {stored.get('xstar')}; "
            f"this xstar reads up to version {VERSION}. Update xstar to read it."
        )
    try:
        own = _build_space(stored["space"])
        trials = tuple(_build_trial(trial, trial.get("number", k), own) for k, trial in enumerate(stored["trials"]))
        goals = _build_goals(stored.get("outputs"))
        for trial in trials:
            if goals is None and trial.values:
                raise ValueError(f"trial {trial.number} has several outputs")
            if goals is not None:
                goals.known(trial.values)
        return SavedStudy(
            own, stored["direction"], _build_settings(stored["method"]), stored["seed"], stored["noise"],
            stored["num_initial"], stored["threads"], trials, goals,
        )  # fmt: skip
    except XstarError as error:
        raise FileError(f"{name!r} is damaged: {error}") from error
    except WRONG as error:
        raise FileError(f"{name!r} is damaged: {type(error).__name__}: {error}.") from error


def _describe(study: SavedStudy) -> dict[str, Any]:
    goals = study.goals
    return {
        "format": FORMAT,
        "version": ONE_OUTPUT if goals is None else VERSION,
        "xstar": __version__,
        "direction": study.direction,
        "seed": study.seed,
        "noise": study.noise,
        "num_initial": study.num_initial,
        "threads": study.threads,
        "method": _describe_settings(study.method),
        "space": _describe_space(study.space),
        # What was not given is left out: so the files are read by versions that know nothing of it.
        **({} if goals is None else {"outputs": _describe_goals(goals)}),
        "trials": [_describe_trial(trial, study.space) for trial in study.trials],
    }


def _describe_goals(goals: Goals) -> dict[str, Any]:
    return {
        "objectives": {
            name: {"direction": str(item.direction), "reference": item.reference}
            for name, item in goals.objectives.items()
        },
        "constraints": {name: {"sense": item.sense, "bound": item.bound} for name, item in goals.constraints.items()},
    }


def _build_goals(stored: Any) -> Goals | None:
    if stored is None:
        return None
    return Goals.check(
        {name: Objective(**item) for name, item in stored["objectives"].items()},
        {name: Constraint(**item) for name, item in stored["constraints"].items()},
    )


def _describe_settings(value: Any) -> Any:
    if isinstance(value, gp.Hyperparameters):
        parts = {item.name: to_numpy(getattr(value, item.name)).tolist() for item in fields(value)}
        return {"kind": "Hyperparameters", **parts}
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value).__name__
        if KINDS.get(kind) is not type(value):
            raise FileError(f"a study with a {kind} in its method cannot be saved: it is not part of xstar.")
        parts = {item.name: _describe_settings(getattr(value, item.name)) for item in fields(value)}
        return {"kind": kind, **parts}
    if isinstance(value, list | tuple):
        return [_describe_settings(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _build_settings(stored: Any) -> Any:
    if isinstance(stored, dict) and "kind" in stored:
        if stored["kind"] not in KINDS:
            raise FileError(f"the study's method has a part {stored['kind']!r} that this xstar does not know.")
        gone, now = RETIRED.get(stored["kind"], ()), RENAMED.get(stored["kind"], {})
        parts = {
            str(now.get(name, name)): _build_settings(value)
            for name, value in stored.items()
            if name not in ("kind", *gone)
        }
        return KINDS[stored["kind"]](**{**MISSING.get(stored["kind"], {}), **parts})
    return tuple(_build_settings(item) for item in stored) if isinstance(stored, list) else stored


def _describe_space(space: Space) -> dict[str, Any]:
    described = []
    for name, parameter in space.parameters.items():
        kind = next(kind for kind, known in PARAMETERS.items() if isinstance(parameter, known))
        settings = {item.name: getattr(parameter, item.name) for item in fields(parameter)}  # type: ignore[arg-type]
        for key in ("choices", "levels"):
            if key in settings:
                settings[key] = [_check_choice(choice, name) for choice in settings[key]]
        # What was not given is left out: so the files are read by versions that know nothing of it.
        left_out = [key for key in ("unit", "descriptors") if settings.get(key) is None]
        given = {key: value for key, value in settings.items() if key not in left_out}
        described.append({"name": name, "kind": kind, **given})
    return {"positional": space.positional, "parameters": described}


def _check_choice(choice: Any, name: str) -> Any:
    # Exactly these: a subclass, such as a member of an Enum, would come back as something else.
    if choice is not None and type(choice) not in (str, int, float, bool):
        raise FileError(
            f'parameter "{name}" has the choice {choice!r}, which a JSON file cannot hold; use strings or numbers as '
            "choices to save a study."
        )
    return choice


def _build_space(stored: Mapping[str, Any]) -> Space:
    parameters = {}
    for item in stored["parameters"]:
        settings = {key: value for key, value in item.items() if key not in ("name", "kind")}
        with naming(item["name"]):
            parameters[item["name"]] = PARAMETERS[item["kind"]](**settings)
    space = Space(parameters)
    space.positional = bool(stored["positional"])
    return space


def _describe_trial(trial: Trial, space: Space) -> dict[str, Any]:
    return {
        "number": trial.number,
        "params": [_describe_value(space.parameters[name], value) for name, value in trial.params.items()],
        "state": trial.state,
        "value": trial.value,
        "sd": trial.sd,
        "reason": trial.reason,
        "diagnostics": as_json_data(trial.diagnostics),
        **({"values": dict(trial.values), "sds": dict(trial.sds)} if trial.values else {}),
    }


def _describe_value(parameter: Parameter, value: Any) -> Any:
    """Choices by their position: they may be equal to each other in JSON."""
    return parameter.index(value) if isinstance(parameter, Listed) else value


def _build_trial(stored: Mapping[str, Any], number: int, space: Space) -> Trial:
    params = {}
    for (name, parameter), value in zip(space.parameters.items(), stored["params"], strict=True):
        if isinstance(parameter, Listed) and not 0 <= value < len(parameter.alternatives):
            raise IndexError(
                f'parameter "{name}" of trial {number} has choice {value} of {len(parameter.alternatives)}'
            )
        params[name] = parameter.alternatives[value] if isinstance(parameter, Listed) else value
    state = stored["state"]
    if state not in STATES:
        raise ValueError(f"trial {number} has the state {state!r}")
    if stored["reason"] is not None and not isinstance(stored["reason"], str):
        raise ValueError(f"trial {number} has the reason {stored['reason']!r}")
    value, sd = check_value(stored["value"]), stored["sd"]
    values = {name: check_value(told) for name, told in stored.get("values", {}).items()}
    sds = {name: check_sd(told, f"sd of {name!r} of trial {number}") for name, told in stored.get("sds", {}).items()}
    if None in values.values() or not set(sds) <= set(values):
        raise ValueError(f"trial {number} has the values {stored['values']!r}")
    if (state == "done") != (value is not None or bool(values)):
        raise ValueError(f"trial {number} is {state} and has the value {stored['value']!r}")
    return Trial(
        number, space.accept(params), state, value, None if sd is None else check_sd(sd, f"sd of trial {number}"),
        stored["reason"], renamed_diagnostics(stored["diagnostics"]),
        values={name: told for name, told in values.items() if told is not None}, sds=sds,
    )  # fmt: skip
