"""Trials of a study: beginning them, ending them once, counting them.

Several workers may try to end the same trial, because one is late and another takes it for dead. Only one of them
does; the others are told so.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

from xstar.cli.studies import Opened
from xstar.errors import SpaceExhausted, TrialError
from xstar.integrations.optuna.records import REASON, SD, WITHDRAWN

EXHAUSTED = (
    "every point of the space has been evaluated or is pending, and without noise there is nothing new to learn; xstar "
    "recommend has the best one, a wider range in the definition goes on."
)


def begin(
    opened: Opened,
    claim: Callable[[optuna.Trial], None] = lambda _: None,
    doing: Callable[[Callable[[], Any]], Any] = lambda action: action(),
) -> optuna.Trial:
    """The next trial, with all its parameters; `claim` is called before they are chosen, which may take a while.

    Every step goes through `doing`, which may try again what a database refuses.
    """
    distributions = doing(lambda: opened.distributions)
    with warnings.catch_warnings():
        # Workers send heartbeats themselves.
        warnings.filterwarnings("ignore", "Heartbeat of storage is supposed")
        trial: optuna.Trial = doing(opened.study.ask)
    doing(lambda: claim(trial))
    doing(lambda: [trial._suggest(name, distribution) for name, distribution in distributions.items()])
    return trial


def check_not_exhausted(opened: Opened) -> None:
    """Complain if there is no point left to suggest, and none waiting."""
    if opened.study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
        return
    if opened.optimizer().exhausted:
        raise SpaceExhausted(EXHAUSTED)


def tell(opened: Opened, number: int, value: float | None, sd: float | None, reason: str | None) -> bool:
    """End a running trial: with a value, or as failed for a reason. False if somebody else has ended it before."""
    attributes = {SD: sd} if value is not None else {REASON: reason or "failed"}
    return _end(opened, number, value, attributes)


def withdraw(opened: Opened, number: int, why: str) -> bool:
    """End a running trial that says nothing about its point. False if somebody else has ended it before."""
    return _end(opened, number, None, {WITHDRAWN: why})


def _end(opened: Opened, number: int, value: float | None, attributes: dict[str, Any]) -> bool:
    study = opened.study
    trial = find(opened, number)
    if trial.state != TrialState.RUNNING:
        return False
    try:
        for key, item in attributes.items():
            if item is not None:
                study._storage.set_trial_user_attr(trial._trial_id, key, item)
        study.tell(number, value, TrialState.FAIL if value is None else TrialState.COMPLETE)
    except UpdateFinishedTrialError:
        return False
    except ValueError:
        if find(opened, number).state == TrialState.RUNNING:
            raise
        return False
    return True


def find(opened: Opened, number: int) -> FrozenTrial:
    """The trial with a number."""
    trials = opened.study.get_trials(deepcopy=False)
    for trial in trials:
        if trial.number == number:
            return trial
    raise TrialError(f"there is no trial {number}; the study has {len(trials)} trials, counted from 0.")


def count(trials: Sequence[FrozenTrial], *, finished: bool = False, below: float = math.inf) -> int:
    """Trials that count as evaluations: running or finished, but neither withdrawn nor begun again.

    Of all trials, those that are `finished`, and those whose numbers are `below` one.
    """
    again = {number for trial in trials for number in trial.system_attrs.get("retry_history", ())}
    return sum(
        trial.state != TrialState.WAITING
        and WITHDRAWN not in trial.user_attrs
        and trial.number not in again
        and (trial.state.is_finished() or not finished)
        and trial.number < below
        for trial in trials
    )
