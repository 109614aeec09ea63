"""Trials of a study: beginning them, ending them once, counting them.

Several workers may try to end the same trial, because one is late and another takes it for dead. Only one of them
does; the others are told so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

from xstar.cli.studies import Opened
from xstar.cli.told import Told
from xstar.errors import SpaceExhausted, TrialError
from xstar.integrations.optuna import adapter
from xstar.integrations.optuna.records import WITHDRAWN, settled
from xstar.integrations.optuna.snapshot import Snapshot

WORKER = "xstar:worker"
"""The user attribute of a trial that names the machine and the process that evaluates it."""
TAKER = "xstar:taker"
"""User attributes that begin like this name those that were about to take it."""
STATE_WORDS = {
    TrialState.COMPLETE: "done", TrialState.FAIL: "failed", TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting", TrialState.PRUNED: "pruned",
}  # fmt: skip
"""What the states of Optuna's trials are called in answers."""
EXHAUSTED = (
    "every point of the space has been evaluated or is pending, and without noise there is nothing new to learn; xstar "
    "recommend has the best one, a wider range in the definition goes on."
)


class Claim:
    """Says whose trial it is; this one, nobody's: a person evaluates it."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """User attributes of a new trial."""
        return {}

    def mark(self, trial_id: int, new: bool) -> None:
        """Say who is about to take a trial that waits, by its number in the storage."""

    def take(self, trial: optuna.Trial) -> None:
        """Say whose a trial is that has begun."""
        if trial.user_attrs.get(WORKER) is not None:
            trial.set_user_attr(WORKER, None)


def begin(
    opened: Opened,
    snapshot: Snapshot,
    claim: Claim | None = None,
    retry: Callable[[Callable[[], Any]], Any] = lambda action: action(),
    *,
    last: bool = False,
) -> tuple[optuna.Trial, Sequence[FrozenTrial]]:
    """Begin the next trial, with all its parameters, and return it with all trials as they are then.

    The point is chosen by a snapshot of the study; that of the `last` evaluation is the recommendation. It is claimed
    before that, because it may take a while. Every step goes through `retry`, which may try again what a database
    refuses.
    """
    claim = claim or Claim()
    trial: optuna.Trial = retry(lambda: adapter.begin_trial(opened.study, claim.attributes, claim.mark))
    retry(lambda: claim.take(trial))
    frozen, distributions = adapter.as_frozen(trial), snapshot.distributions
    varying = [name for name, distribution in distributions.items() if not distribution.single()]
    params, trials = {}, None
    if not settled(frozen, distributions).keys() >= set(varying):
        found = retry(lambda: opened.sampler.suggest(opened.study, frozen, snapshot, last=last))
        params, trials = {name: found.params[name] for name in varying if name in found.params}, found.trials
    retry(lambda: adapter.set_params(trial, distributions, params))
    return trial, retry(lambda: opened.study.get_trials(deepcopy=False)) if trials is None else trials


def check_not_exhausted(snapshot: Snapshot) -> None:
    """Complain if there is no point left to suggest, and none waiting."""
    waiting = (trial for trial in snapshot.trials if trial.state == TrialState.WAITING)
    if any(trial.params or adapter.enqueued_params(trial) for trial in waiting):
        return
    if snapshot.optimizer.exhausted:
        raise SpaceExhausted(EXHAUSTED)


def tell(opened: Opened, number: int, told: Told) -> bool:
    """End a running trial: with a value, or as failed for a reason. False if somebody else has ended it before."""
    return _end(opened, number, told, told.attributes)


def note(opened: Opened, number: int, told: Told, more: Mapping[str, Any]) -> None:
    """Keep some of several outputs of a trial that goes on, and more user attributes."""
    trial = find(opened, number)
    for key, item in {**({} if told.failed else told.attributes), **more}.items():
        adapter.set_user_attribute(opened.study, trial, key, item)


def withdraw(opened: Opened, number: int, why: str) -> bool:
    """End a running trial that says nothing about its point. False if somebody else has ended it before."""
    return _end(opened, number, Told(), {WITHDRAWN: why})


def _end(opened: Opened, number: int, told: Told, attributes: Mapping[str, Any]) -> bool:
    study = opened.study
    trial = find(opened, number)
    if trial.state != TrialState.RUNNING:
        return False
    try:
        for key, item in attributes.items():
            adapter.set_user_attribute(study, trial, key, item)
        for name, beyond in told.constraints(opened.goals).items():
            adapter.set_constraint(study, trial, name, beyond)
        study.tell(number, told.objectives(opened.goals), told.state)
    except UpdateFinishedTrialError:
        return False
    except ValueError:
        if find(opened, number).state == TrialState.RUNNING:
            raise
        return False
    return True


def find(opened: Opened, number: int) -> FrozenTrial:
    """Return the trial with a number; the others are not read."""
    trial = adapter.find_trial(opened.study, number)
    if trial is None:
        there = adapter.count_trials(opened.study)
        raise TrialError(f"there is no trial {number}; the study has {there} trials, counted from 0.")
    return trial


def count(trials: Sequence[FrozenTrial], *, finished: bool = False, below: float = math.inf) -> int:
    """Count the trials that are evaluations: running or finished, but neither withdrawn nor begun again.

    Of all trials, those that are `finished`, and those whose numbers are `below` one.
    """
    again = {number for trial in trials for number in adapter.begun_again(trial)}
    return sum(
        trial.state != TrialState.WAITING
        and WITHDRAWN not in trial.user_attrs
        and trial.number not in again
        and (trial.state.is_finished() or not finished)
        and trial.number < below
        for trial in trials
    )
