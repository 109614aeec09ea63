"""What Optuna's trials say of the outputs of a study: its objectives, and the constraints that its trials have.

    COMPLETE   its values and constraints; a failure if no objective, or a constraint, has a finite value
    PRUNED     its last reported value, but nothing better than the median of the complete ones: a trial is pruned
               because it was going badly, and early values say little else; and its constraints
    FAIL       a failure, whatever else it has

A study with one objective and without constraints has one output. Constraints are known from the trials that have them,
by their keys; each is an output that is to be at most 0. What a trial has not told of them is missing.
"""

from __future__ import annotations

import logging
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import optuna
from optuna.trial import FrozenTrial, TrialState

from xstar.direction import Direction
from xstar.errors import DataError
from xstar.goals import Constraint, Goals, Objective
from xstar.trial import State, Trial, check_sd

_logger = logging.getLogger(__name__)

SD, REASON = "xstar:sd", "xstar:reason"
"""User attributes of a trial: the noise of its value, or of its outputs by name; why it failed."""
FINISHED_WITH_VALUES = (TrialState.COMPLETE, TrialState.PRUNED)
"""States in which constraints count."""


class Outcome(NamedTuple):
    """What has become of a trial."""

    state: State
    values: Mapping[str, float] = {}
    """By output."""
    sds: Mapping[str, float] = {}
    """The noise of the values that was told."""
    reason: str | None = None


@dataclass(frozen=True)
class Outputs:
    """The outputs of a study by name, objectives first, and what some of its trials say of them."""

    directions: Mapping[str, Direction]
    """Of the objectives, in the order of their values in a trial."""
    keys: Mapping[str, str]
    """Under which Optuna has each constraint."""
    median: float | None
    """Of the complete trials' values, where there is one objective."""

    @classmethod
    def of(cls, study: optuna.Study, trials: Sequence[FrozenTrial]) -> Outputs:
        """Return those of a study with these trials."""
        directions = [Direction.parse(direction.name.lower()) for direction in study.directions]
        names = _names_of_objectives(study.metric_names, len(directions))
        found = {key for trial in trials if trial.state in FINISHED_WITH_VALUES for key in trial.constraints}
        keys: dict[str, str] = {}
        for key in sorted(found, key=_position):
            keys[_name_of_constraint(key, {*names, *keys})] = key
        return cls(dict(zip(names, directions, strict=True)), keys, _median(trials) if len(names) == 1 else None)

    @cached_property
    def single(self) -> str | None:
        """The name of the only objective; None if there are several."""
        return next(iter(self.directions)) if len(self.directions) == 1 else None

    @property
    def direction(self) -> Direction:
        """That of the first objective."""
        return next(iter(self.directions.values()))

    def goals(self, evidence: Iterable[Trial]) -> Goals | None:
        """Return what is wanted of the outputs, with constraints of which evidence has a value; None for one output."""
        told = {name for trial in evidence for name in trial.values}
        constraints = {name: Constraint("<=", 0.0) for name in self.keys if name in told}
        if self.single is not None and not constraints:
            return None
        return Goals({name: Objective(direction) for name, direction in self.directions.items()}, constraints)

    def outcome(self, trial: FrozenTrial, use_pruned: bool = True) -> Outcome | None:
        """Return what has become of a trial; None if it says nothing."""
        if trial.state in (TrialState.RUNNING, TrialState.WAITING):
            return Outcome("pending")
        if trial.state == TrialState.FAIL:
            return Outcome("failed", reason=str(trial.user_attrs.get(REASON, "failed")))
        if trial.state == TrialState.PRUNED and not use_pruned:
            return None
        known = trial.constraints if self.keys else {}
        constraints = {name: known[key] for name, key in self.keys.items() if known.get(key) is not None}
        beyond = [name for name, value in constraints.items() if value == math.inf]
        if beyond:
            return Outcome("failed", reason=f"constraint {beyond[0]!r} was inf")
        objectives = self._pruned(trial) if trial.state == TrialState.PRUNED else self._complete(trial)
        told = {name: value for name, value in objectives.items() if math.isfinite(value)}
        if trial.state == TrialState.COMPLETE and not told:
            values = list(objectives.values())
            said = f"values were {values!r}" if self.single is None else f"value was {values[0]!r}"
            return Outcome("failed", reason=said)
        told.update((name, value) for name, value in constraints.items() if math.isfinite(value))
        return Outcome("done", told, self._noise(trial, told)) if told else None

    def _complete(self, trial: FrozenTrial) -> dict[str, float]:
        return dict(zip(self.directions, trial.values, strict=True))

    def _pruned(self, trial: FrozenTrial) -> dict[str, float]:
        """The last value of a pruned trial; Optuna reports none where there are several objectives."""
        last = trial.last_step
        if self.single is None or last is None or self.median is None:
            return {}
        value = trial.intermediate_values[last]
        if math.isnan(value):
            return {}
        return {self.single: self.directions[self.single].no_better_than(value, self.median)}

    def _noise(self, trial: FrozenTrial, told: Mapping[str, float]) -> dict[str, float]:
        """The noise of values, as far as it was told and makes sense."""
        given: Any = trial.user_attrs.get(SD)
        if not isinstance(given, Mapping):
            given = {self.single: given}
        if given.get(None) is not None:
            _logger.warning("the noise of trial %d is ignored: of several objectives, it is by name.", trial.number)
        found = {}
        for name in told:
            try:
                if given.get(name) is not None:
                    found[name] = check_sd(given[name], SD)
            except DataError as error:
                _logger.warning("the noise of trial %d is ignored: %s", trial.number, error)
        return found


def _names_of_objectives(given: Sequence[str] | None, count: int) -> list[str]:
    """Those that were given to the study, if they tell the objectives apart."""
    if given is not None and len(set(given)) == count and all(given):
        return list(given)
    return ["value"] if count == 1 else [f"value_{k}" for k in range(count)]


def _name_of_constraint(key: str, taken: set[str]) -> str:
    """The key, or a longer name where that is the number of a constraint, or an objective has it."""
    name = key if key and not key.isdecimal() else f"constraint_{key}"
    while name in taken:
        name = f"constraint_{name}"
    return name


def _position(key: str) -> tuple[bool, int, str]:
    """The order of constraints: numbered ones first, others by name, because databases keep no order."""
    return (False, int(key), key) if key.isdecimal() else (True, 0, key)


def _median(trials: Sequence[FrozenTrial]) -> float | None:
    values = [trial.value for trial in trials if trial.state == TrialState.COMPLETE and trial.value is not None]
    finite = [value for value in values if math.isfinite(value)]
    return statistics.median(finite) if finite else None
