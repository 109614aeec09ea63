"""A result that somebody tells by hand: of a trial by its number, or of parameters as name=value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from xstar.cli.console import Console
from xstar.cli.name_value import parse_params, trial_number
from xstar.cli.studies import Opened
from xstar.cli.trials import STATE_WORDS, find, tell
from xstar.errors import DataError, TrialError
from xstar.files.cells import FAILURES
from xstar.files.definition import Definition
from xstar.integrations.optuna import adapter
from xstar.integrations.optuna.outcomes import REASON, SD
from xstar.integrations.optuna.records import ADDED, known_params
from xstar.integrations.optuna.snapshot import Snapshot
from xstar.trial import State, Trial, check_sd, check_value, summarize


@dataclass(frozen=True)
class TypedResult:
    """A result as it was typed in."""

    number: int | None
    """Of the trial; None if parameters were typed."""
    pairs: tuple[str, ...]
    value: float | None
    """None for a failure."""
    sd: float | None
    reason: str | None

    @classmethod
    def read(cls, words: Sequence[str], value: str, sd: float | None, reason: str | None) -> TypedResult:
        """Return what was typed, or complain about what is no result, whatever the study."""
        number = check_value(_read_value(value))
        if number is None and reason is None:
            reason = f"value was {value.strip()}"
        if not words:
            raise DataError("of which trial? Give its number, or all its parameters as name=value, before the value.")
        return cls(trial_number(words), tuple(words), number, None if sd is None else check_sd(sd, "sd"), reason)

    def check(self, reference: str) -> None:
        """Complain about parameters that a definition does not have, before a study is made for it."""
        if self.number is None and reference.endswith(".toml"):
            parse_params(self.pairs, Definition.read(reference).space)

    def record(self, opened: Opened, console: Console) -> None:
        """Tell the study, and say so."""
        if self.number is not None:
            known = find(opened, self.number)
            if known.state != TrialState.RUNNING:
                raise TrialError(
                    f"trial {self.number} is {STATE_WORDS[known.state]} already; tell its parameters (name=value ...) "
                    "to add another result."
                )
            number, params = self.number, known.params
            tell(opened, number, self.value, self.sd, self.reason)
        else:
            snapshot = opened.snapshot()
            params = parse_params(self.pairs, snapshot.space)
            number = self._add(opened, snapshot, params)
        state: State = "failed" if self.value is None else "done"
        trial = Trial(number, params, state, self.value, self.sd, self.reason)
        console.answer(summarize(trial), asdict(trial))

    def _add(self, opened: Opened, snapshot: Snapshot, params: Mapping[str, Any]) -> int:
        """Complete the running trial with these parameters, or add one that nobody asked for; returns its number."""
        distributions = snapshot.distributions
        for trial in snapshot.trials:
            own = known_params(trial, distributions) if trial.state == TrialState.RUNNING else {}
            if own.keys() >= params.keys() and snapshot.space.same(own, params):
                tell(opened, trial.number, self.value, self.sd, self.reason)
                return trial.number
        attributes = {ADDED: True, SD: self.sd, REASON: self.reason}
        added = optuna.trial.create_trial(
            params=dict(params),
            distributions={name: _widened(distributions[name], params[name]) for name in params},
            value=self.value,
            state=TrialState.FAIL if self.value is None else TrialState.COMPLETE,
            user_attrs={key: item for key, item in attributes.items() if item is not None},
        )
        return adapter.add_trial(opened.study, added)


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
