"""A study to be read, wherever it is kept: in a database, or in a spreadsheet with its definition.

Commands that only ask (`where`, `explain`, `report`, `export`, `recommend`, `status`) know nothing of the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from optuna.trial import FrozenTrial, TrialState

from xstar.cli.in_words import listed
from xstar.cli.sheet import Sheet
from xstar.cli.studies import Opened
from xstar.cli.trials import STATE_WORDS
from xstar.direction import Direction
from xstar.engine.joint.answers import nondominated_trials
from xstar.errors import SettingsError, TrialError
from xstar.files.definition import Definition
from xstar.files.letters import file_name
from xstar.goals import Goals
from xstar.integrations.optuna.adapter import enqueued_params
from xstar.integrations.optuna.outcomes import REASON, SD, Outputs
from xstar.integrations.optuna.records import WITHDRAWN, shared
from xstar.optimizer import Optimizer
from xstar.space import Space
from xstar.trial import Trial, renamed_diagnostics

TO_RUN = "to run"
"""The state of a row without a result."""


@dataclass(frozen=True)
class Listed:
    """An evaluation as tables have it."""

    number: int
    """Of the trial, or of the row."""
    state: str
    """done, failed, running, waiting, pruned, withdrawn, or to run."""
    params: Mapping[str, Any]
    value: float | None = None
    sd: float | None = None
    reason: str | None = None
    method: str | None = None
    """Which has suggested it, if that is known."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Of several outputs, those that were told."""
    sds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """A study as it was read."""

    name: str
    address: str
    """Where it is, without passwords."""
    direction: Direction
    definition: Definition | None
    space: Space | None
    """None if the parameters are not known yet."""
    result: str
    """What the values are called."""
    goals: Goals | None
    """What is wanted of several outputs; None of one."""
    listed: tuple[Listed, ...]
    """All evaluations."""
    counted_in: Literal["trial", "row"]
    """What their numbers are: those of trials, or those of rows as spreadsheets show them."""
    numbers: Mapping[int, int]
    """The number that the optimizer has for each."""
    build: Callable[[], Optimizer]
    page: Path
    """Where a report goes by default."""
    remarks: tuple[str, ...] = ()
    """What of the study is not in the model, and why."""
    no_results: str = ""
    """What is said where there are none."""
    file: Path | None = None
    """What no answer may be written to."""

    @classmethod
    def of_study(cls, opened: Opened) -> Source:
        """Read a study in a database."""
        study = opened.study
        try:
            snapshot = opened.snapshot()
        except SettingsError:
            snapshot = None  # nobody knows its parameters; whoever needs them is told so by `build`
        trials = study.get_trials(deepcopy=False) if snapshot is None else snapshot.trials
        told = {} if snapshot is None else {trial.number: trial for trial in snapshot.evidence}
        complete = sum(trial.state == TrialState.COMPLETE for trial in trials)
        names = ", ".join([] if snapshot is None else snapshot.space.parameters)
        why = f": none of its {complete} results has all of {names}" if complete else ""
        return cls(
            name=study.study_name,
            address=opened.address,
            direction=Direction.parse(study.directions[0].name.lower()),
            definition=opened.definition,
            space=None if snapshot is None else snapshot.space,
            result="value" if opened.definition is None else opened.definition.result,
            goals=opened.goals or Outputs.of(study, trials).goals(told.values()),
            listed=tuple(_listed_trial(trial, told.get(trial.number)) for trial in trials),
            counted_in="trial",
            numbers={trial.number: trial.number for trial in trials},
            build=opened.optimizer if snapshot is None else lambda: snapshot.optimizer,
            page=opened.folder / f"{file_name(study.study_name)}.html",
            remarks=() if snapshot is None else snapshot.remarks,
            no_results=f"the study {study.study_name!r} has no results yet{why}.",
        )

    @classmethod
    def of_sheet(cls, sheet: Sheet, definition: Definition) -> Source:
        """Read a study in a spreadsheet."""
        rows = list(zip(sheet.rows, sheet.trials, strict=True))
        return cls(
            name=sheet.path.stem,
            address=str(sheet.path),
            direction=Direction.parse(definition.direction),
            definition=definition,
            space=definition.space,
            result=definition.result,
            goals=definition.goals,
            listed=tuple(_listed_row(row, trial, definition.goals) for row, trial in rows),
            counted_in="row",
            numbers={row: trial.number for row, trial in rows},
            build=lambda: sheet.optimizer(definition),
            page=sheet.path.with_suffix(".html"),
            no_results=(
                f"{str(sheet.path)!r} has no results yet; fill in {listed(definition.outputs)} in its rows (xstar csv "
                "adds rows to run)."
            ),
            file=sheet.path,
        )

    def optimizer(self) -> Optimizer:
        """Return what the study says, or complain that it says nothing yet."""
        optimizer = self.build()
        if not any(trial.state == "done" for trial in optimizer.trials):
            raise TrialError(self.no_results)
        return optimizer

    def trial_number(self, number: int) -> int:
        """Return the number that the optimizer has for an evaluation."""
        if number in self.numbers:
            return self.numbers[number]
        if self.counted_in == "trial":
            raise TrialError(f"there is no trial {number}; the study has {len(self.numbers)} trials, counted from 0.")
        raise TrialError(
            f"row {number} of {self.address!r} has no experiment; rows are counted as spreadsheets show them: the "
            "header is row 1."
        )

    def best(self) -> Listed | None:
        """Return the evaluation with the best value observed, within all bounds; None of several objectives."""
        done = [trial for trial in self.listed if trial.state == "done" and math.isfinite(trial.value or 0.0)]
        if self.goals is not None:
            if self.goals.several:
                return None
            done = [trial for trial in done if trial.value is not None and self.goals.are_met(trial.values)]
        return self.direction.best(done, lambda trial: trial.value or 0.0)

    def not_dominated(self) -> list[int]:
        """Return the numbers of the evaluations that no other one dominates, of several objectives."""
        if self.goals is None or not self.goals.several:
            return []
        done = [trial for trial in self.listed if trial.state == "done"]
        told = [Trial(trial.number, trial.params, "done", values=trial.values) for trial in done]
        return [trial.number for trial in nondominated_trials(self.goals, told)]

    def running(self) -> list[int]:
        """Return the numbers of evaluations that have begun, or are to be run, and have no result."""
        return [trial.number for trial in self.listed if trial.state in ("running", TO_RUN)]

    def check_target(self, path: Path) -> None:
        """Complain about a file that is the study itself."""
        if self.file is not None and path.exists() and path.resolve() == self.file.resolve():
            raise SettingsError(f"{str(path)!r} is the spreadsheet itself; name another file.")


def _listed_trial(trial: FrozenTrial, told: Trial | None) -> Listed:
    """The record of a trial; `told` is what the model is told of it, which knows several outputs by name."""
    value = trial.values[0] if trial.state == TrialState.COMPLETE and len(trial.values) == 1 else None
    sd = trial.user_attrs.get(SD)
    values: Mapping[str, float] = {} if told is None else told.values
    if values:
        value, sd = (told.value, told.sd) if told is not None else (None, None)
    return Listed(
        number=trial.number,
        state="withdrawn" if WITHDRAWN in trial.user_attrs else STATE_WORDS[trial.state],
        params={**enqueued_params(trial), **trial.params},
        value=value,
        sd=sd,
        values=values,
        sds={} if told is None else told.sds,
        reason=trial.user_attrs.get(WITHDRAWN, trial.user_attrs.get(REASON)),
        method=renamed_diagnostics(shared(trial)).get("method"),
    )


def _listed_row(row: int, trial: Trial, goals: Goals | None) -> Listed:
    state = TO_RUN if trial.state == "pending" else trial.state
    value, sd = trial.value, trial.sd
    if goals is not None and not goals.several:
        value, sd = trial.values.get(goals.single), trial.sds.get(goals.single)
    return Listed(row, state, trial.params, value, sd, trial.reason, values=trial.values, sds=trial.sds)
