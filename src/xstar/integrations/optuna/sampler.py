"""A sampler for Optuna: studies in any of its storages, shared by any number of workers.

    study = optuna.create_study(direction="maximize", sampler=XstarSampler(seed=0))
    study.optimize(objective, n_trials=40)
    load_optimizer(study).where()

The sampler keeps nothing that is not in the study: a suggestion depends on the seed, on the trials so far and on the
number of the trial, so that workers come and go, and samplers with the same seed on several machines do not repeat
each other.
"""

from __future__ import annotations

import logging
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from xstar.engine import Models
from xstar.engine.joint import JointModels
from xstar.engine.settings import draw_seed
from xstar.errors import SettingsError, SpaceExhausted
from xstar.goals import Goals
from xstar.integrations.optuna import adapter, records
from xstar.integrations.optuna.outcomes import Outputs
from xstar.integrations.optuna.snapshot import SharedSuggestion, Snapshot
from xstar.methods import Method, find_method
from xstar.numerics.checks import integer, positive
from xstar.optimizer import Optimizer
from xstar.search import SAME_POINT
from xstar.space import Parameter
from xstar.trial import Trial, check_sd

_logger = logging.getLogger(__name__)

INDEPENDENT = 5
"""Marks the random numbers of parameters that are sampled one by one."""
SILENT = 3
"""Complete trials that should have taught something."""


@dataclass(frozen=True)
class SharingSettings:
    """How workers that choose at the same moment take care of each other."""

    close: float = 0.01
    """Two points of the unit cube that differ by less in every coordinate are nearly the same experiment."""
    attempts: int = 3
    """How often a suggestion is made, if another worker was faster with nearly the same one."""
    attempts_at_another_point: int = 20
    """The same, if it was faster with the same point: that is given up only if workers never stop to be faster."""
    yield_seconds: float = 2.0
    """How long to wait until a later trial, whose worker has chosen the same point at the same moment, leaves it."""
    look_seconds: float = 0.05
    """Between looks at whether it has."""
    choice_seconds: float = 60.0
    """How long a choice may take: a trial that has no parameters for longer is not being chosen any more."""
    max_foreseen: int = 4
    """Choices of others that are foreseen, at most; each costs one more search."""


class XstarSampler(BaseSampler):
    """Predictive Entropy Search for Optuna studies, with one objective or several, and with constraints.

    The constraints of a trial (`trial.set_constraint`, or `constraints_func`) are outputs to be at most 0: their values
    teach the model where they hold. Objectives are called "value", or "value_0", "value_1", ..., unless the study has
    metric names; constraints by their keys.

    Parameters
    ----------
    seed : int, optional
        A whole number; None draws one. Workers of one study may have the same.
    method : str or Method
        How points are chosen, as for `Optimizer`: "pes", "ei", ..., or a `Method` of your own.
    n_startup_trials : int, optional
        Trials that fill the space before the model is asked (`num_initial` of `Optimizer`); by default the number of
        parameters plus one, from 3 to 10.
    n_trials : int, optional
        How many trials the study will have, if that is known (a sampler is not told): the last one then tests the best
        posterior mean, if that is above all that was tested. It changes nothing else.
    independent_sampler : BaseSampler, optional
        For parameters outside the common search space: those of the first trial, and conditional ones. By default they
        are drawn at random, as a function of the seed, the trial's number and their name.
    search_space : dict of distributions or parameters, optional
        All distributions (or parameters of xstar, which may have an order, descriptors and units that distributions
        do not have), if they are known beforehand: then already the first trial is part of the design, and
        suggestions are those of `Optimizer` with the same seed and data. By default it is what all complete trials
        have in common, with the latest ranges.
    noise : float or dict, optional
        The standard deviation of every value, 0 for a deterministic objective; by default it is learned. Where there
        are several outputs, one for all or some by name. The noise of one value may be told by
        `trial.set_user_attr("xstar:sd", 0.02)`, with a dictionary for several objectives.
    stale_after : float, optional
        Seconds after which a running trial is taken for dead and no longer counted on; None for never. Where the
        storage has heartbeats, they decide as well.
    use_pruned : bool
        Whether the last values of pruned trials teach the model, no better than the median of complete ones.
    warn_independent_sampling : bool
        Whether to log a warning when a parameter is not modelled.
    constraints_func : callable, optional
        Called with a trial that is complete or pruned; returns the values of its constraints, as for Optuna's own
        samplers, or None if they are not known.

    Raises
    ------
    SettingsError
        If a setting makes no sense.
    DataError
        If the noise is no standard deviation.
    SpaceError
        If the search space has a distribution that xstar does not know.

    Notes
    -----
    The sampler keeps nothing that is not in the study, except fitted models. Several threads may share it.

    Examples
    --------
    >>> import optuna
    >>> from xstar.integrations.optuna import XstarSampler, load_optimizer
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    >>> study = optuna.create_study(sampler=XstarSampler(method="logei", search_space=space))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2, n_trials=8)
    >>> round(load_optimizer(study).recommend().params["x"], 2)
    0.3
    """

    def __init__(
        self,
        *,
        seed: int | None = 0,
        method: str | Method = "pes",
        n_startup_trials: int | None = None,
        n_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        search_space: Mapping[str, BaseDistribution | Parameter] | None = None,
        noise: float | Mapping[str, float] | None = None,
        stale_after: float | None = 86_400.0,
        use_pruned: bool = True,
        warn_independent_sampling: bool = True,
        constraints_func: Callable[[FrozenTrial], Sequence[float] | None] | None = None,
    ) -> None:
        find_method(method)
        self.seed = draw_seed() if seed is None else integer(seed, "seed", 0)
        self.method = method
        # One complete trial is needed before there is a model, so that 0 is as good as 1.
        self.n_startup_trials = (
            None if n_startup_trials is None else max(1, integer(n_startup_trials, "n_startup_trials", 0))
        )
        self.n_trials = None if n_trials is None else integer(n_trials, "n_trials", 1)
        self.search_space = None if search_space is None else _check_distributions(search_space)
        self._parameters = {name: given for name, given in (search_space or {}).items() if isinstance(given, Parameter)}
        self.noise = _check_noise(noise)
        self.stale_after = None if stale_after is None else positive(stale_after, "stale_after")
        self.use_pruned = use_pruned
        self._sharing = SharingSettings()
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = warn_independent_sampling
        self._constraints_func = constraints_func
        self._warned: set[str] = set()
        self._silent = False
        self._models, self._joint_models = Models(), JointModels()
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        kept_out = ("_lock", "_models", "_joint_models")
        return {name: value for name, value in vars(self).items() if name not in kept_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _models=Models(), _joint_models=JointModels(), _lock=threading.RLock())

    def reseed_rng(self) -> None:
        """Reseed nothing of our own: random numbers depend on the trial's number, which no two workers share."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if self._constraints_func is not None:
            adapter.record_constraints(study, trial, state, self._constraints_func)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        known = self.search_space
        if known is None:
            known = records.common_distributions(study.get_trials(deepcopy=False))
        return {name: distribution for name, distribution in known.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space:
            return {}
        with self._lock:  # so that a thread knows what the one before it has chosen
            trials = study.get_trials(deepcopy=False)
            # What has no choice any more is part of the model: trials with other values of it are of another function.
            known = self.search_space or records.common_distributions(trials)
            fixed = {name: distribution for name, distribution in known.items() if distribution.single()}
            last = self.n_trials is not None and trial.number + 1 == self.n_trials
            found = self.suggest(study, trial, self.snapshot(study, trials, {**fixed, **search_space}), last=last)
        return {name: found.params[name] for name in search_space if name in found.params}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        self._warn_of_independence(study, param_name)
        if self._independent_sampler is not None:
            return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)
        space = records.to_space({param_name: param_distribution})
        rng = np.random.default_rng([self.seed, INDEPENDENT, trial.number, zlib.crc32(param_name.encode())])
        row = space.domain.spread(rng.random((1, len(space.domain.blocks))))[0]
        return space.decode(row)[param_name]

    def _warn_of_independence(self, study: Study, name: str) -> None:
        """Say once for each parameter that it is not modelled; of the first trial that is only natural."""
        if not self._warn_independent_sampling or name in self._warned:
            return
        trials = study.get_trials(deepcopy=False)
        complete = any(trial.state == TrialState.COMPLETE for trial in trials)
        if complete and name not in records.common_distributions(trials):
            self._warned.add(name)
            _logger.warning("parameter %r is not part of all complete trials, so it is sampled independently.", name)

    def _warn_of_silence(self, trials: Sequence[FrozenTrial], evidence: Sequence[Trial]) -> None:
        """Say once if complete trials teach nothing."""
        complete = sum(trial.state == TrialState.COMPLETE for trial in trials)
        if complete >= SILENT and not self._silent and all(trial.state == "pending" for trial in evidence):
            self._silent = True
            _logger.warning(
                "none of the %d complete trials has all parameters of the search space, so that nothing is learned.",
                complete,
            )

    def optimizer(self, study: Study, search_space: Mapping[str, BaseDistribution] | None = None) -> Optimizer:
        """Return what the study says, as an `Optimizer` with the sampler's settings.

        Parameters
        ----------
        study : optuna.Study
            In any storage.
        search_space : dict of distributions, optional
            What varies; by default the sampler's own, or what all complete trials have in common.

        Returns
        -------
        Optimizer
            A copy: what is told to it does not reach the study.

        Raises
        ------
        SettingsError
            If the parameters are not known yet.
        """
        return self.whole(study, search_space).optimizer

    def whole(self, study: Study, search_space: Mapping[str, BaseDistribution] | None = None) -> Snapshot:
        """The study as it is now."""
        trials = study.get_trials(deepcopy=False)
        known = search_space or self.search_space or records.common_distributions(trials)
        if not known:
            raise SettingsError(
                f"the study {study.study_name!r} has no complete trial yet, so its parameters are not known; pass "
                "search_space= to the sampler to name them."
            )
        return self.snapshot(study, trials, known)

    def snapshot(
        self, study: Study, trials: Sequence[FrozenTrial], distributions: Mapping[str, BaseDistribution]
    ) -> Snapshot:
        """Return what trials just read from a study say, with the sampler's settings."""
        space, outputs = records.to_space(distributions, self._parameters), Outputs.of(study, trials)
        stale = frozenset(records.stale_trials(study, trials, self.stale_after))
        evidence = records.to_trials(trials, distributions, space, outputs, use_pruned=self.use_pruned, without=stale)
        goals = outputs.goals(evidence)
        if goals is None:
            evidence = [replace(trial, values={}, sds={}) for trial in evidence]
        optimizer = Optimizer.from_trials(
            evidence, space, outputs.direction, self.method, self.seed,
            models=self._models if goals is None else self._joint_models,
            noise=self._noise_of(outputs, goals), num_initial=self.n_startup_trials,
            objectives=None if goals is None else goals.objectives,
            constraints=None if goals is None else goals.constraints,
        )  # fmt: skip
        return Snapshot(tuple(trials), stale, distributions, space, outputs, tuple(evidence), optimizer)

    def _noise_of(self, outputs: Outputs, goals: Goals | None) -> float | dict[str, float] | None:
        """The noise of the outputs that are known by now."""
        if not isinstance(self.noise, Mapping):
            return self.noise
        if goals is None:
            return None if outputs.single is None else self.noise.get(outputs.single)
        return {name: sd for name, sd in self.noise.items() if name in goals.names}

    def suggest(self, study: Study, trial: FrozenTrial, snapshot: Snapshot, *, last: bool = False) -> SharedSuggestion:
        """Return the parameters of a trial, by a snapshot taken before or after it began, and share them.

        They are chosen anew if another worker has meanwhile taken nearly the same point. The `last` trial of a study
        evaluates the recommendation.
        """
        with self._lock:
            try:
                suggestion, trials = self._share_one(study, trial, snapshot, last)
            except SpaceExhausted as error:
                _logger.warning("trial %d repeats a point: %s", trial.number, error)
                return SharedSuggestion({}, None)
        if suggestion.diagnostics["fallback"] is not None:
            how = map(suggestion.diagnostics.get, ("method", "fallback"))
            _logger.info("trial %d was suggested by %s: %s", trial.number, *how)
        return SharedSuggestion(suggestion.params, trials)

    def _share_one(
        self, study: Study, trial: FrozenTrial, snapshot: Snapshot, last: bool
    ) -> tuple[Trial, Sequence[FrozenTrial]]:
        """The suggestion, shared, and all trials as they were after that.

        Whoever keeps a point has shared it before it has read that nobody else has it: of two workers with the same
        point at least one sees the other. The later trial leaves the point; the earlier one waits for that, unless the
        later one has begun to evaluate it.
        """
        if snapshot.is_older_than(trial):
            trials: Sequence[FrozenTrial] = study.get_trials(deepcopy=False)
            snapshot = self.snapshot(study, trials, snapshot.distributions)
        own = self._sharing
        for attempt in range(1, own.attempts_at_another_point + 1):
            suggestion = self._propose(trial, snapshot, last)
            records.share(study, trial, suggestion, snapshot.distributions)
            trials = study.get_trials(deepcopy=False)
            same = self._taken(suggestion, trials, snapshot, SAME_POINT)
            until = time.monotonic() + own.yield_seconds
            while same and all(self._will_yield(other, trial, snapshot) for other in same) and time.monotonic() < until:
                time.sleep(own.look_seconds)
                trials = study.get_trials(deepcopy=False)
                same = self._taken(suggestion, trials, snapshot, SAME_POINT)
            close = attempt < own.attempts and self._taken(suggestion, trials, snapshot, own.close)
            if attempt == own.attempts_at_another_point or not (same or close):
                break
            if same:
                records.unshare(study, trial)
                trials = study.get_trials(deepcopy=False)
            snapshot = self.snapshot(study, trials, snapshot.distributions)
        return suggestion, trials

    def _propose(self, trial: FrozenTrial, snapshot: Snapshot, last: bool) -> Trial:
        """The suggestion for a trial, which counts on those that are just being chosen."""
        evidence = [other for other in snapshot.evidence if other.number != trial.number]
        self._warn_of_silence(snapshot.trials, evidence)
        optimizer = snapshot.optimizer
        if len(evidence) < len(snapshot.evidence):
            optimizer = optimizer.with_trials(evidence)
        distributions, sharing = snapshot.distributions, self._sharing
        others = records.choosing(snapshot.trials, trial, snapshot.settled, distributions, sharing.choice_seconds)
        for other in others[-sharing.max_foreseen :]:
            # It is about to take what it would be given: count on that, as in a batch.
            taken = optimizer.propose(other.number, records.settled(other, distributions))
            evidence.append(Trial(other.number, taken.params))
            optimizer = optimizer.with_trials(evidence)
        return optimizer.propose(trial.number, records.settled(trial, distributions), last=last)

    def _will_yield(self, other: FrozenTrial, trial: FrozenTrial, snapshot: Snapshot) -> bool:
        """Whether another trial is later, and its point not evaluated yet."""
        return other.number > trial.number and not (
            other.state.is_finished()
            or records.settled(other, snapshot.distributions).keys() >= snapshot.distributions.keys()
        )

    def _taken(
        self, suggestion: Trial, trials: Sequence[FrozenTrial], snapshot: Snapshot, close: float
    ) -> list[FrozenTrial]:
        """The trials that other workers have given nearly the same point since the snapshot."""
        settled = snapshot.final | {suggestion.number}
        if all(trial.number in settled for trial in trials):
            return []
        space, before = snapshot.space, {other.number: other.params for other in snapshot.evidence}
        news = records.to_trials(
            trials, snapshot.distributions, space, snapshot.outputs, use_pruned=self.use_pruned, without=settled
        )
        row = space.encode(suggestion.params)
        # A trial that was pending at one point may be at another now: its worker has left the first to somebody else.
        found = {
            other.number
            for other in news
            if before.get(other.number) != other.params
            and bool(np.all(np.abs(space.encode(other.params) - row) < close))
        }
        return [trial for trial in trials if trial.number in found]


def _check_distributions(search_space: Mapping[str, BaseDistribution | Parameter]) -> dict[str, BaseDistribution]:
    found = {}
    for name, given in dict(search_space).items():
        distribution = records.to_distribution(given) if isinstance(given, Parameter) else given
        if not isinstance(distribution, BaseDistribution):
            raise SettingsError(
                f'search_space has {distribution!r} for "{name}"; it needs distributions of Optuna, for example '
                "FloatDistribution(0.0, 1.0)."
            )
        found[name] = distribution
    records.to_space(found)  # which complains about what it cannot hold
    return found


def _check_noise(noise: float | Mapping[str, float] | None) -> float | dict[str, float] | None:
    if isinstance(noise, Mapping):
        return {name: check_sd(sd, f"noise of {name!r}") for name, sd in noise.items()}
    return None if noise is None else check_sd(noise, "noise")


def load_optimizer(study: Study, sampler: XstarSampler | None = None) -> Optimizer:
    """Return what a study says, as an `Optimizer`: recommend or pareto, where, explain, pictures, a report.

    Parameters
    ----------
    study : optuna.Study
        In any storage.
    sampler : XstarSampler, optional
        Whose settings hold; by default the study's own, if it is an `XstarSampler`.

    Returns
    -------
    Optimizer
        A copy: what is asked of it or told to it does not reach the study.

    Raises
    ------
    SettingsError
        If the parameters are not known yet.

    Warns
    -----
    UserWarning
        If parameters or results of the study are not in the model: those that only some trials have, for example.

    Examples
    --------
    >>> import optuna
    >>> from xstar.integrations.optuna import load_optimizer
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> study = optuna.create_study()
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1.0, 1.0) ** 2, n_trials=3)
    >>> load_optimizer(study)
    Optimizer(Space(x=Real(-1.0, 1.0)), 'minimize', 'pes': 3 done)
    """
    own = study.sampler if isinstance(study.sampler, XstarSampler) else XstarSampler()
    snapshot = (sampler or own).whole(study)
    for remark in snapshot.remarks:
        warnings.warn(f"study {study.study_name!r}: {remark}", UserWarning, stacklevel=2)
    return snapshot.optimizer
