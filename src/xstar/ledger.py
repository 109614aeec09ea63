"""The trials of an optimizer: each has a number, is found by what a user calls it, and has one result."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from xstar.errors import TrialError
from xstar.numerics.checks import integer
from xstar.space import Space
from xstar.trial import STATES, State, Trial, TrialLike


class Ledger:
    """Trials by their numbers; those of other studies keep theirs."""

    def __init__(self, space: Space, trials: Iterable[Trial] = ()) -> None:
        self._space = space
        self._trials: dict[int, Trial] = {}
        for trial in sorted(trials, key=lambda trial: trial.number):
            integer(trial.number, "the number of a trial", 0)
            if trial.number in self._trials:
                raise TrialError(f"there are two trials with the number {trial.number}.")
            if trial.state not in STATES or (trial.state == "done") != has_result(trial):
                raise TrialError(f"trial {trial.number} is {trial.state!r} and has the value {trial.value!r}.")
            self._trials[trial.number] = replace(trial, params=space.accept(trial.params))

    def __iter__(self) -> Iterator[Trial]:
        """In the order in which they came."""
        return iter(self._trials.values())

    @property
    def in_order(self) -> tuple[Trial, ...]:
        """All trials, in the order of their numbers, as records of their own."""
        return tuple(_copy(self._trials[number]) for number in sorted(self._trials))

    @property
    def next_number(self) -> int:
        """One above the largest."""
        return max(self._trials, default=-1) + 1

    def store(self, trial: Trial) -> Trial:
        """Keep a trial under its number, in place of an earlier one; returns a record of its own."""
        self._trials[trial.number] = trial
        return _copy(trial)

    def record(self, reference: TrialLike, state: State, *, overwrite: bool, **outcome: Any) -> Trial:
        """Give a trial a result, or add one for parameters that nobody asked for."""
        known = self.find(reference)
        if known is None:
            params = self._space.accept(reference.params if isinstance(reference, Trial) else reference)
            known = Trial(self.next_number, params)
        elif known.state != "pending" and not overwrite:
            raise TrialError(
                f"trial {known.number} is {known.state} already; use replace=True to correct it, or tell its "
                "parameters to add another result."
            )
        return self.store(replace(known, state=state, **outcome))

    def find(self, reference: TrialLike) -> Trial | None:
        """Return the trial that is meant; None for parameters of no pending trial."""
        if isinstance(reference, Trial):
            return self.numbered(reference)
        if isinstance(reference, np.ndarray) and reference.ndim == 0:
            reference = reference.item()
        if self._is_number_of_trial(reference):
            return self.numbered(int(reference))
        params = self._space.accept(reference)
        pending = (trial for trial in self if trial.state == "pending")
        return next((trial for trial in pending if self._space.same(trial.params, params)), None)

    def numbered(self, reference: Trial | int) -> Trial:
        """Return the trial of a number, or the one that a record is of."""
        number = reference.number if isinstance(reference, Trial) else reference
        if number not in self._trials:
            there = f"the numbers go from {min(self._trials)} to {max(self._trials)}" if self._trials else "none yet"
            raise TrialError(f"there is no trial {number}; {there}.")
        known = self._trials[number]
        if isinstance(reference, Trial):
            ours = reference.params.keys() == known.params.keys()
            if not (ours and self._space.same(known.params, reference.params)):
                raise TrialError(f"trial {number} of this optimizer has other parameters; is it from another one?")
        return known

    def _is_number_of_trial(self, reference: Any) -> TypeGuard[int]:
        """Whether a number is that of a trial; where it could be meant as a point, neither is taken for granted."""
        if isinstance(reference, bool | np.bool_) or not isinstance(reference, numbers.Real):
            return False
        if self._space.positional and len(self._space.parameters) == 1:
            raise TrialError(
                f"{reference!r} may be the number of a trial or a point: write a point as [{reference!r}], and for a "
                "trial pass the Trial itself."
            )
        return isinstance(reference, int | np.integer)


def has_result(trial: Trial) -> bool:
    """Return whether something was told of a trial: its value, or at least one of several outputs."""
    return trial.value is not None or bool(trial.values)


def _copy(trial: Trial) -> Trial:
    """A record of its own: what the caller does to its parameters changes nothing here."""
    return replace(
        trial, params=dict(trial.params), diagnostics=dict(trial.diagnostics), values=dict(trial.values),
        sds=dict(trial.sds),
    )  # fmt: skip
