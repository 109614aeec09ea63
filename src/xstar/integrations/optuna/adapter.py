"""All that xstar uses of Optuna and that Optuna does not promise to keep: no other file touches its private parts.

Known in Optuna 5.0; `pyproject.toml` caps it below 6, because private parts may change with any release. When the cap
is raised, this is the file to look at:

    Study._storage, Study._study_id, Trial._trial_id, FrozenTrial._trial_id    where a study and a trial are stored
    Trial._suggest, Trial._relative_params, Trial._cached_frozen_trial         a trial that gets its parameters from us
    BaseHeartbeat._get_stale_trial_ids, storages._heartbeat                    signs of life
    BaseDistribution._contains                                                 whether a distribution has a value
    storages._rdb.models.BaseModel                                             the tables of a database
    samplers._base._process_constraints_after_trial                            how constraints_func is recorded
    study._constrained_optimization._CONSTRAINTS_KEY                           under which constraints are written
    system attributes fixed_params, failed_trial, retry_history                what was enqueued, what was begun again

Storages themselves have a public interface, but a study does not hand out its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers._base import _process_constraints_after_trial
from optuna.storages import BaseStorage
from optuna.storages._heartbeat import is_heartbeat_enabled
from optuna.storages._rdb.models import BaseModel
from optuna.study._constrained_optimization import _CONSTRAINTS_KEY
from optuna.trial import FrozenTrial, TrialState

MOST_TRIALS = 2**31
"""Databases have no room for a larger number of a trial."""

# Where a study and a trial are stored


def storage_of(study: optuna.Study) -> BaseStorage:
    """Return the storage of a study."""
    return study._storage


def tables() -> dict[str, frozenset[str]]:
    """Return the tables that Optuna makes in a database, with the names of their columns; that of migrations, too."""
    made = {name: frozenset(table.columns.keys()) for name, table in BaseModel.metadata.tables.items()}
    return {**made, "alembic_version": frozenset({"version_num"})}


def id_of_study(study: optuna.Study) -> int:
    """Return the number of a study in its storage."""
    return study._study_id


def id_of(trial: optuna.Trial | FrozenTrial) -> int:
    """Return the number of a trial in its storage, which is not that in its study."""
    return trial._trial_id


def find_trial(study: optuna.Study, number: int) -> FrozenTrial | None:
    """Return the trial with a number, without reading the others; None if there is none."""
    if not 0 <= number < MOST_TRIALS:
        return None
    try:
        return study._storage.get_trial(study._storage.get_trial_id_from_study_id_trial_number(study._study_id, number))
    except KeyError:
        return None


def count_trials(study: optuna.Study) -> int:
    """Return how many trials a study has, in any state."""
    return study._storage.get_n_trials(study._study_id)


def add_trial(study: optuna.Study, trial: FrozenTrial) -> int:
    """Add a trial and return its number, which `Study.add_trial` does not."""
    return study._storage.get_trial(study._storage.create_new_trial(study._study_id, trial)).number


def begin_trial(
    study: optuna.Study, attributes: Mapping[str, Any], mark: Callable[[int, bool], None] = lambda *_: None
) -> optuna.Trial:
    """Begin the next trial: the first that waits, or a new one with some user attributes.

    `Study.ask` makes a trial that runs, and for a moment nobody can know for whom. Here also a new one waits first, and
    `mark` is called with its number in the storage (`id_of`), and whether it is new, before it runs: a process that
    ends at any moment leaves a trial that waits for another, or one that is marked. Several processes may mark one
    trial that waits; one of them begins it.
    """
    storage, own = study._storage, study._study_id
    while True:
        waiting = storage.get_all_trials(own, deepcopy=False, states=(TrialState.WAITING,))
        if waiting:
            trial_id = waiting[0]._trial_id
        else:
            template = optuna.create_trial(state=TrialState.WAITING, user_attrs=dict(attributes))
            trial_id = storage.create_new_trial(own, template)
        mark(trial_id, not waiting)
        with suppress(optuna.exceptions.UpdateFinishedTrialError):
            if storage.set_trial_state_values(trial_id, TrialState.RUNNING):
                return optuna.Trial(study, trial_id)


def set_system_attribute(study: optuna.Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Write a system attribute of a trial."""
    study._storage.set_trial_system_attr(trial._trial_id, key, value)


def set_user_attribute(study: optuna.Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Write a user attribute of a trial that another process may have begun."""
    study._storage.set_trial_user_attr(trial._trial_id, key, value)


def set_constraint(study: optuna.Study, trial: FrozenTrial, name: str, value: float) -> None:
    """Write a constraint of a trial, at most 0 where it holds, as `Trial.set_constraint` does."""
    study._storage.set_trial_system_attr(trial._trial_id, f"{_CONSTRAINTS_KEY}:{name}", value)


def record_constraints(
    study: optuna.Study,
    trial: FrozenTrial,
    state: TrialState,
    constraints_func: Callable[[FrozenTrial], Sequence[float] | None],
) -> None:
    """Write what a function says of the constraints of a trial that ends, as Optuna's samplers do; nothing for None."""
    if state in (TrialState.COMPLETE, TrialState.PRUNED) and (told := constraints_func(trial)) is not None:
        _process_constraints_after_trial(lambda _: told, study, trial, state)


def mark_trial(study: optuna.Study, trial_id: int, key: str, value: Any) -> None:
    """Write a user attribute of a trial, by its number in the storage (`id_of`)."""
    study._storage.set_trial_user_attr(trial_id, key, value)


def release_session(study: optuna.Study) -> None:
    """Give up a connection that may be broken, so that the next access makes a new one."""
    with suppress(Exception):
        study._storage.remove_session()


# Signs of life


def has_heartbeats(study: optuna.Study) -> bool:
    """Return whether running trials of a study have signs of life."""
    return is_heartbeat_enabled(study._storage)


def silent_trials(study: optuna.Study) -> set[int]:
    """Return the numbers in the storage (`id_of`) of running trials without a recent sign of life."""
    storage: Any = study._storage
    return set(storage._get_stale_trial_ids(study._study_id)) if is_heartbeat_enabled(storage) else set()


def record_heartbeat(study: optuna.Study, trial_id: int) -> None:
    """Record a sign of life of a trial, by its number in the storage (`id_of`)."""
    storage: Any = study._storage
    storage.record_heartbeat(trial_id)


def fail_silent_trials(study: optuna.Study) -> None:
    """Fail trials without a recent sign of life; the storage's callback queues them again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)


# Parameters


def as_frozen(trial: optuna.Trial) -> FrozenTrial:
    """Return the record of a running trial, as a sampler is given it."""
    return trial._cached_frozen_trial


def set_params(trial: optuna.Trial, distributions: Mapping[str, BaseDistribution], chosen: Mapping[str, Any]) -> None:
    """Give a running trial all its parameters: those enqueued for it, those `chosen`, or what its sampler draws."""
    trial.relative_search_space = {name: distributions[name] for name in chosen}
    trial._relative_params = dict(chosen)
    for name, distribution in distributions.items():
        trial._suggest(name, distribution)


def contains(distribution: BaseDistribution, value: Any) -> bool:
    """Return whether a number is one of a distribution's."""
    return distribution._contains(value)


def enqueued_params(trial: FrozenTrial) -> Mapping[str, Any]:
    """Return the parameters that were enqueued for a trial."""
    found: Mapping[str, Any] = trial.system_attrs.get("fixed_params", {})
    return found


def begun_again(trial: FrozenTrial) -> tuple[int, ...]:
    """Return the numbers of the trials of dead workers that a trial repeats, the latest last."""
    return tuple(trial.system_attrs.get("retry_history", ()))


def repeated_trials(trials: Iterable[FrozenTrial]) -> set[int]:
    """Return the numbers of the trials that others have repeated."""
    found = {number for trial in trials for number in begun_again(trial)}
    found.update(trial.system_attrs["failed_trial"] for trial in trials if "failed_trial" in trial.system_attrs)
    return found
