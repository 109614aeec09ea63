"""A result that somebody tells by hand: of a trial by its number, or of parameters as name=value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from xstar.cli.console import Console
from xstar.cli.in_words import listed
from xstar.cli.name_value import parse_params, split_outputs, trial_number
from xstar.cli.studies import Opened
from xstar.cli.told import Told, told_of
from xstar.cli.trials import STATE_WORDS, find, note, tell
from xstar.cli.values import number_and_sd
from xstar.errors import DataError, SettingsError, TrialError
from xstar.files.cells import FAILURES
from xstar.files.definition import Definition
from xstar.goals import Goals
from xstar.integrations.optuna import adapter
from xstar.integrations.optuna.records import ADDED, known_params
from xstar.integrations.optuna.snapshot import Snapshot
from xstar.space import Space
from xstar.trial import check_sd, check_value, summarize

NOT_COMING = "xstar:not-coming"
"""The user attribute of a trial that goes on, with the outputs that will not be told."""


@dataclass(frozen=True)
class TypedResult:
    """A result as it was typed in."""

    number: int | None
    """Of the trial; None if parameters were typed."""
    words: tuple[str, ...]
    """Which evaluation is meant; and, of several outputs, their values by name."""
    told: Told | None
    """None for several outputs, which are known once the study is."""

    @classmethod
    def read(cls, words: Sequence[str], value: str | None, sd: float | None, reason: str | None) -> TypedResult:
        """Return what was typed, or complain about what is no result, whatever the study.

        Without a `value` for all, those of several outputs are among the words.
        """
        told: Told | None = None
        if value is not None:
            number = check_value(_read_value(value))
            if number is None and reason is None:
                reason = f"value was {value.strip()}"
            told = Told(number, None if sd is None or number is None else check_sd(sd, "sd"), reason)
        elif sd is not None:
            raise DataError("of several outputs, the noise stands behind the value, as in yield=81.2±0.5; omit --sd.")
        if not words:
            raise DataError("of which trial? Give its number, or all its parameters as name=value, before the value.")
        return cls(trial_number(words[:1]), tuple(words), told)

    def check(self, reference: str) -> None:
        """Complain about parameters that a definition does not have, before a study is made for it."""
        if reference.endswith(".toml"):
            definition = Definition.read(reference)
            pairs, _ = self._parts(definition.space, definition.goals)
            if self.number is None:
                parse_params(pairs, definition.space)

    def record(self, opened: Opened, console: Console) -> None:
        """Tell the study, and say so."""
        if opened.goals is None and len(opened.study.directions) > 1:
            raise SettingsError(
                f"the study {opened.study.study_name!r} has several objectives and no definition that names them; tell "
                "it in Python."
            )
        if self.number is not None:
            known = find(opened, self.number)
            if known.state != TrialState.RUNNING:
                raise TrialError(
                    f"trial {self.number} is {STATE_WORDS[known.state]} already; tell its parameters (name=value ...) "
                    "to add another result."
                )
            _, told = self._parts(None if opened.goals is None else opened.snapshot().space, opened.goals)
            number, params = self.number, known.params
            told, missing = self._tell(opened, number, told)
        else:
            snapshot = opened.snapshot()
            pairs, told = self._parts(snapshot.space, opened.goals)
            params = parse_params(pairs, snapshot.space)
            number, told, missing = self._add(opened, snapshot, params, told)
        trial = told.trial(number, params)
        console.answer(summarize(trial), {**asdict(trial), **({"missing": missing} if missing else {})})
        if missing:
            console.remark(
                f"trial {number} goes on until {listed(missing)} {'is' if len(missing) == 1 else 'are'} told; "
                f"{missing[0]}=failed says that it will not be"
            )

    def _parts(self, space: Space | None, goals: Goals | None) -> tuple[tuple[str, ...], Told]:
        """The words that name parameters, and what is told."""
        if goals is None or space is None:
            if self.told is None:
                raise DataError(f"the value must be a number; received {self.words[-1]!r}.")
            return self.words, self.told
        if self.told is not None and (self.told.failed or len(goals.names) == 1):
            if self.told.failed:
                return self.words, self.told
            found = {goals.single: (self.told.value, self.told.sd)}
            return self.words, _told_of(found, goals)
        if self.told is not None:
            example = " ".join(f"{name}=..." for name in goals.names)
            raise DataError(f"there are several outputs; tell them by name: {example}.")
        pairs, outputs = split_outputs(self.words[0 if self.number is None else 1 :], space, goals.names)
        names = () if self.number is not None else tuple(space.parameters)
        known = tuple(f"{name}=" for name in names)
        unknown = [pair for pair in pairs if not pair.removeprefix(" ").startswith(known)]
        if unknown:
            also = f"; the parameters, {', '.join(names)}" if names else ""
            name = unknown[0].partition("=")[0]
            raise DataError(f"there is no output {name!r}: the outputs are {', '.join(goals.names)}{also}.")
        if not outputs:
            raise DataError(f"no output is told; name at least one, such as {goals.names[0]}=...")
        return pairs, _told_of({name: _read_output(name, text) for name, text in outputs.items()}, goals)

    def _tell(self, opened: Opened, number: int, told: Told) -> tuple[Told, list[str]]:
        """Tell a running trial; returns all that is known of it by now, and the outputs that are still missing."""
        goals = opened.goals
        if goals is None or self.told is not None:
            tell(opened, number, told)
            return told, []
        frozen = find(opened, number)
        before, gone = told_of(frozen), set(frozen.user_attrs.get(NOT_COMING, ()))
        whole = Told(
            reason=told.reason, values={**before.values, **told.values}, sds={**before.sds, **told.sds}
        ).of_goals(goals)
        gone |= set(self._typed_outputs(goals)) - set(told.values)
        missing = [name for name in goals.names if name not in whole.values and name not in gone]
        if missing:
            note(opened, number, whole, {NOT_COMING: sorted(gone)} if gone else {})
            return whole, missing
        tell(opened, number, whole)
        return whole, []

    def _typed_outputs(self, goals: Goals) -> list[str]:
        return [name for name in goals.names if any(word.lstrip().startswith(f"{name}=") for word in self.words)]

    def _add(
        self, opened: Opened, snapshot: Snapshot, params: Mapping[str, Any], told: Told
    ) -> tuple[int, Told, list[str]]:
        """Complete the running trial with these parameters, or add one that nobody asked for; returns its number."""
        distributions = snapshot.distributions
        for trial in snapshot.trials:
            own = known_params(trial, distributions) if trial.state == TrialState.RUNNING else {}
            if own.keys() >= params.keys() and snapshot.space.same(own, params):
                return trial.number, *self._tell(opened, trial.number, told)
        added = optuna.trial.create_trial(
            params=dict(params),
            distributions={name: _widened(distributions[name], params[name]) for name in params},
            values=told.objectives(opened.goals),
            state=told.state,
            user_attrs={ADDED: True, **told.attributes},
            constraints=told.constraints(opened.goals) or None,
        )
        return adapter.add_trial(opened.study, added), told, []


def _told_of(found: Mapping[str, tuple[float | None, float | None]], goals: Goals) -> Told:
    """What is told of several outputs; those without a value are missing."""
    values = {name: found[name][0] for name in goals.names if name in found}
    known = {name: value for name, value in values.items() if value is not None}
    sds = {name: sd for name in known if (sd := found[name][1]) is not None}
    reason = None if known else "values were " + ", ".join(f"{name} failed" for name in values)
    return Told(reason=reason, values=known, sds=sds).of_goals(goals)


def _read_output(name: str, text: str) -> tuple[float | None, float | None]:
    """A value and its noise; no value for a word that means failure."""
    if text.strip().lower() in FAILURES:
        return None, None
    try:
        value, sd = number_and_sd(text)
    except ValueError as error:
        raise DataError(
            f"output {name!r} must be a number, maybe with its noise, as in 81.2±0.5; received {text!r}."
        ) from error
    return check_value(value), None if sd is None else check_sd(sd, f"sd of {name!r}")


def _read_value(text: str) -> float | None:
    """The value; None for a word that means failure."""
    if text.strip().lower() in FAILURES:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise DataError(f"the value must be a number; received {text!r}.") from error


def _widened(distribution: BaseDistribution, value: Any) -> BaseDistribution:
    """The distribution, or one that has room for data from outside it."""
    if isinstance(distribution, FloatDistribution | IntDistribution) and not adapter.contains(distribution, value):
        low, high = min(distribution.low, value), max(distribution.high, value)
        return type(distribution)(low, high, log=distribution.log)
    return distribution
