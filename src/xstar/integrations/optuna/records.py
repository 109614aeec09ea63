"""Optuna's records as xstar's: distributions become parameters, trials become evidence.

    COMPLETE, PRUNED    values of the study's outputs, or a failure: see `outcomes`
    FAIL                a failure, unless the trial was withdrawn or another trial has retried it
    RUNNING             pending, as soon as its parameters are known, unless it is stale
    WAITING             pending, if all its parameters are enqueued

Trials that lack a parameter, or have a value for it that the parameter cannot hold, say nothing.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from xstar.errors import SpaceError
from xstar.integrations.optuna import adapter
from xstar.integrations.optuna.outcomes import Outputs
from xstar.space import Categorical, Integer, Listed, Parameter, Real, Space
from xstar.trial import Trial, renamed_diagnostics

SHARED = "xstar:suggested"
"""System attributes with this name and a number are the pieces of what a sampler has suggested, as JSON."""
PIECE = 1000
"""Characters of a piece: at most twice as many when quoted, below the 2045 that any database holds."""
SHARED_DIAGNOSTICS = (
    "method", "fallback", "purpose", "gain", "left", "bits", "bits_by_output", "kernel", "inference_converged",
)  # fmt: skip
"""What is also said about how it came about."""
WITHDRAWN, ADDED = "xstar:withdrawn", "xstar:added"
"""User attributes of a trial: why it does not count; that it was added. `outcomes` has others."""
FOREVER = 1e10
"""Seconds: about three hundred years."""


def to_parameter(distribution: BaseDistribution) -> Parameter:
    """Return the parameter of a distribution."""
    if isinstance(distribution, FloatDistribution):
        return Real(distribution.low, distribution.high, distribution.log, distribution.step)
    if isinstance(distribution, IntDistribution):
        return Integer(
            distribution.low, distribution.high, distribution.log, 1 if distribution.log else distribution.step
        )
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(distribution.choices)
    raise SpaceError(f"{type(distribution).__name__} is not a distribution that xstar knows.")


def to_distribution(parameter: Parameter) -> BaseDistribution:
    """Return the distribution of a parameter."""
    if isinstance(parameter, Real):
        # The last step, not what is left of the range above it: Optuna would warn of that.
        high = parameter.high if parameter.step is None else parameter.decode(np.ones(1))
        return FloatDistribution(parameter.low, high, parameter.log, parameter.step)
    if isinstance(parameter, Integer):
        return IntDistribution(parameter.low, parameter.decode(np.ones(1)), parameter.log, parameter.step)
    if isinstance(parameter, Listed):  # Optuna knows no order
        return CategoricalDistribution(parameter.alternatives)
    raise SpaceError(f"{type(parameter).__name__} has no distribution in Optuna.")


def to_space(distributions: Mapping[str, BaseDistribution], known: Mapping[str, Parameter] | None = None) -> Space:
    """Return the space of some distributions.

    `known` parameters say more than their distributions do: an order, descriptors, a unit. They are taken where their
    distribution is the one that is meant.
    """
    parameters = {}
    for name, distribution in distributions.items():
        own = (known or {}).get(name)
        meant = own is not None and to_distribution(own) == distribution
        parameters[name] = own if own is not None and meant else to_parameter(distribution)
    return Space(parameters)


def common_distributions(trials: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
    """Return what all finished trials have: the latest distribution of each parameter, so that ranges may change.

    Complete trials decide; if there are none, failed ones do.
    """
    for state in (TrialState.COMPLETE, TrialState.FAIL):
        known = [trial.distributions for trial in trials if trial.state == state and trial.distributions]
        if known:
            names = set(known[0]).intersection(*known[1:])
            latest: dict[str, BaseDistribution] = {}
            # What was added from elsewhere has ranges of its own: they hold only where there are no others.
            for trial in sorted(trials, key=lambda trial: (ADDED not in trial.user_attrs, trial.number)):
                latest.update((name, found) for name, found in trial.distributions.items() if name in names)
            return {name: latest[name] for name in sorted(names)}
    return {}


def left_out(trials: Sequence[FrozenTrial], names: Collection[str]) -> dict[str, int]:
    """Return the parameters that complete trials have and that are not among `names`, and how many have them."""
    complete = [trial.distributions for trial in trials if trial.state == TrialState.COMPLETE]
    counts = Counter(name for known in complete for name in known if name not in names)
    return dict(sorted(counts.items()))


def share(
    study: optuna.Study, trial: FrozenTrial, suggestion: Trial, distributions: Mapping[str, BaseDistribution]
) -> None:
    """Let other workers see at once what was suggested: `trial.params` fills only as the objective asks for them."""
    params = {
        name: float(distribution.to_internal_repr(suggestion.params[name]))
        for name, distribution in distributions.items()
        if not distribution.single()
    }
    how = {key: suggestion.diagnostics[key] for key in SHARED_DIAGNOSTICS if key in suggestion.diagnostics}
    text = json.dumps({"params": params, **how})
    # The last piece is the first that is not full: those of a longer text from before do not count.
    for start in range(0, len(text) + 1, PIECE):
        adapter.set_system_attribute(study, trial, f"{SHARED}:{start // PIECE}", text[start : start + PIECE])


def unshare(study: optuna.Study, trial: FrozenTrial) -> None:
    """Let other workers know that what was suggested is left to them."""
    adapter.set_system_attribute(study, trial, f"{SHARED}:0", "{}")


def shared(trial: FrozenTrial) -> dict[str, Any]:
    """Return what a sampler has shared about a trial; nothing, if a piece is still missing."""
    text = ""
    for k in itertools.count():
        piece = trial.system_attrs.get(f"{SHARED}:{k}")
        if piece is None:
            return {}
        text += piece
        if len(piece) < PIECE:
            break
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


def known_params(trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return the known parameters of a trial: suggested, enqueued, used already, or without a choice."""
    suggested = shared(trial).get("params", {})
    known = {}
    for name, distribution in distributions.items():
        if name in suggested:
            known[name] = distribution.to_external_repr(suggested[name])
        elif distribution.single():
            known[name] = to_parameter(distribution).decode(np.zeros(1))
    return {**known, **settled(trial, distributions)}


def settled(trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return the parameters that a trial has already, or that are enqueued for it, as far as they can be held."""
    found = {}
    for name, value in adapter.enqueued_params(trial).items():
        with contextlib.suppress(KeyError, ValueError, TypeError):
            choice = _own_choice(value, distributions[name])
            found[name] = to_parameter(distributions[name]).accept(choice, name)
    return {**found, **_params(trial, distributions)}


def _params(trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """The parameters of a trial that are wanted."""
    found = {}
    for name, distribution in distributions.items():
        if name in trial.params:
            with contextlib.suppress(ValueError):
                found[name] = _own_choice(trial.params[name], distribution)
    return found


def _own_choice(value: Any, distribution: BaseDistribution) -> Any:
    """Choices by their position, because what comes from a database may not equal itself (NaN does not)."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.to_external_repr(distribution.to_internal_repr(value))
    return value


def to_trials(
    trials: Sequence[FrozenTrial],
    distributions: Mapping[str, BaseDistribution],
    space: Space,
    outputs: Outputs,
    *,
    use_pruned: bool = True,
    without: Collection[int] = (),
) -> list[Trial]:
    """Return the evidence of trials, by their numbers; those `without` do not count, stale ones for example.

    All outputs are in `values`, and a single objective in `value`, too.
    """
    repeated, name = adapter.repeated_trials(trials), outputs.single
    found = []
    for trial in trials:
        if trial.number in without or trial.number in repeated or WITHDRAWN in trial.user_attrs:
            continue
        outcome = outputs.outcome(trial, use_pruned)
        if outcome is None:
            continue
        done = trial.state.is_finished()
        params = _params(trial, distributions) if done else known_params(trial, distributions)
        try:
            accepted = space.accept({name: params[name] for name in space.parameters})
        except (KeyError, SpaceError):
            continue
        diagnostics = {key: item for key, item in renamed_diagnostics(shared(trial)).items() if key != "params"}
        value, sd = (None, None) if name is None else (outcome.values.get(name), outcome.sds.get(name))
        found.append(Trial(
            trial.number, accepted, outcome.state, value, sd, outcome.reason, diagnostics, outcome.values, outcome.sds
        ))  # fmt: skip
    return found


def choosing(
    trials: Sequence[FrozenTrial],
    trial: FrozenTrial,
    settled_ones: Collection[int],
    distributions: Mapping[str, BaseDistribution],
    choice_seconds: float,
) -> list[FrozenTrial]:
    """Return the trials that began before one and whose parameters are just being chosen.

    They are running, younger than `choice_seconds`, and not yet known. `settled_ones` are numbers of trials that are
    known, or do not count.
    """
    now = datetime.now()
    return [
        other
        for other in trials
        if other.state == TrialState.RUNNING
        and other.number < trial.number
        and other.number not in settled_ones
        and WITHDRAWN not in other.user_attrs
        and other.datetime_start is not None
        and abs(now - other.datetime_start) < timedelta(seconds=choice_seconds)
        and not distributions.keys() <= known_params(other, distributions).keys()
    ]


def stale_trials(study: optuna.Study, trials: Sequence[FrozenTrial], age: float | None) -> set[int]:
    """Return the numbers of running trials that nobody works on any more, by their age in seconds or heartbeat."""
    running = [trial for trial in trials if trial.state == TrialState.RUNNING]
    if not running:
        return set()
    found = set()
    if age is not None:
        limit = datetime.now() - timedelta(seconds=min(age, FOREVER))
        found = {trial.number for trial in running if trial.datetime_start and trial.datetime_start < limit}
    silent = adapter.silent_trials(study)
    found.update(trial.number for trial in running if adapter.id_of(trial) in silent)
    return found
