"""What was told of an evaluation, and how a study of Optuna holds it.

Several outputs, which a definition names, are held as other samplers and dashboards understand them:

    values         those of the objectives; one that is missing is the worst infinity
    constraints    by how much each is beyond its bound: at most 0 within it; what is missing has none

and all of them, as they were told, in a user attribute, so that nothing is lost; the noise, by name, in another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from xstar.direction import Direction
from xstar.goals import Goals
from xstar.integrations.optuna import XstarSampler
from xstar.integrations.optuna.outcomes import REASON, SD
from xstar.integrations.optuna.snapshot import Snapshot
from xstar.optimizer import Optimizer
from xstar.trial import State, Trial

OUTPUTS = "xstar:outputs"
"""The user attribute of a trial with all outputs that were told, by name."""


@dataclass(frozen=True)
class Told:
    """A value, or several outputs by name; a failure has neither, and a reason."""

    value: float | None = None
    sd: float | None = None
    reason: str | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    sds: Mapping[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether nothing was measured."""
        return self.value is None and not self.values

    @property
    def state(self) -> TrialState:
        """What becomes of the trial in Optuna."""
        return TrialState.FAIL if self.failed else TrialState.COMPLETE

    def of_goals(self, goals: Goals | None) -> Told:
        """Return the same with the value of a single objective, if there are several outputs."""
        if goals is None or goals.several:
            return self
        return replace(self, value=self.values.get(goals.single), sd=self.sds.get(goals.single))

    def trial(self, number: int, params: Mapping[str, Any]) -> Trial:
        """Return the trial that was told."""
        state: State = "failed" if self.failed else "done"
        return Trial(number, params, state, self.value, self.sd, self.reason, values=self.values, sds=self.sds)

    def objectives(self, goals: Goals | None) -> list[float] | None:
        """Return the values of a trial in Optuna; None for a failure."""
        if self.failed:
            return None
        if goals is None:
            assert self.value is not None, "it has not failed"
            return [self.value]
        return [self.values.get(name, -goals.direction(name).sign * math.inf) for name in goals.objectives]

    def constraints(self, goals: Goals | None) -> dict[str, float]:
        """Return the constraints of a trial in Optuna, at most 0 within the bounds."""
        if goals is None:
            return {}
        return {
            name: item.direction.sign * (item.bound - self.values[name])
            for name, item in goals.constraints.items()
            if name in self.values
        }

    @property
    def attributes(self) -> dict[str, Any]:
        """User attributes of a trial in Optuna."""
        if self.failed:
            return {REASON: self.reason or "failed"}
        noise: Any = dict(self.sds) if self.values else self.sd
        return {**({OUTPUTS: dict(self.values)} if self.values else {}), **({} if noise in (None, {}) else {SD: noise})}


def told_of(trial: FrozenTrial) -> Told:
    """Return the outputs that a trial has by name, so far."""
    values, sds = trial.user_attrs.get(OUTPUTS), trial.user_attrs.get(SD)
    return Told(
        values=dict(values) if isinstance(values, Mapping) else {}, sds=dict(sds) if isinstance(sds, Mapping) else {}
    )


class SamplerOfOutputs(XstarSampler):
    """One that knows what the outputs of a study mean, and reads them as they were told."""

    def __init__(self, goals: Goals, **settings: Any) -> None:
        super().__init__(**settings)
        self._goals = goals

    def snapshot(
        self, study: Study, trials: Sequence[FrozenTrial], distributions: Mapping[str, BaseDistribution]
    ) -> Snapshot:
        """Return what trials just read from a study say, in the units of the definition."""
        found = super().snapshot(study, trials, distributions)
        goals, by_number = self._goals, {trial.number: trial for trial in trials}
        evidence = tuple(_as_told(trial, by_number[trial.number], goals) for trial in found.evidence)
        optimizer = Optimizer.from_trials(
            evidence, found.space, found.outputs.direction, self.method, self.seed, models=self._joint_models,
            noise=self.noise, num_initial=self.n_startup_trials, objectives=goals.objectives,
            constraints=goals.constraints,
        )  # fmt: skip
        return replace(found, evidence=evidence, optimizer=optimizer)


def _as_told(trial: Trial, frozen: FrozenTrial, goals: Goals) -> Trial:
    """The trial with its outputs as they were told, or as other programs have left them in Optuna."""
    if frozen.state != TrialState.COMPLETE:
        return trial if trial.state != "done" else replace(trial, state="withdrawn", value=None, values={}, sds={})
    told = told_of(frozen)
    values = dict(told.values)
    if not values:
        objectives = zip(goals.objectives, frozen.values, strict=True)
        values = {name: value for name, value in objectives if math.isfinite(value)}
        for name, item in goals.constraints.items():
            beyond = frozen.constraints.get(name)
            if beyond is not None and math.isfinite(beyond):
                values[name] = item.bound - item.direction.sign * beyond
    known = {name: values[name] for name in goals.names if name in values}
    if not known:
        return trial
    sds = {name: sd for name, sd in told.sds.items() if name in known}
    whole = Told(values=known, sds=sds).of_goals(goals)
    return replace(trial, state="done", value=whole.value, sd=whole.sd, reason=None, values=known, sds=sds)


def directions_of(direction: str, goals: Goals | None) -> list[str]:
    """Return those of a study in Optuna."""
    return [str(Direction.parse(direction))] if goals is None else [
        str(goals.direction(name)) for name in goals.objectives
    ]  # fmt: skip
