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
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from xstar.direction import Direction
from xstar.engine import Models
from xstar.errors import SettingsError, SpaceExhausted
from xstar.integrations.optuna import records
from xstar.methods import Method, find_method
from xstar.numerics.checks import integer, positive
from xstar.optimizer import Optimizer
from xstar.space import Space
from xstar.trial import Trial, check_sd

_logger = logging.getLogger(__name__)

INDEPENDENT = 5
"""Marks the random numbers of parameters that are sampled one by one."""
CLOSE = 0.01
"""Two points of the unit cube that differ by less in every coordinate are nearly the same experiment."""
SILENT = 3
"""Complete trials that should have taught something."""
ATTEMPTS = 3
"""How often a suggestion is made again because another worker was faster with nearly the same one."""


class XstarSampler(BaseSampler):
    """Predictive Entropy Search for Optuna studies with one objective.

    `seed`: a whole number; None draws one.
    `method`: a name ("pes", "ei", ...) or a `Method`, as for `Optimizer`.
    `n_startup_trials`: trials that fill the space before the model is asked; by default the number of parameters plus
    one, from 3 to 10.
    `independent_sampler`: for parameters outside the common search space (those of the first trial, and conditional
    ones); by default they are drawn at random, as a function of the seed, the trial's number and their name.
    `search_space`: all distributions, if they are known beforehand; then already the first trial is part of the design,
    and suggestions are those of `Optimizer` with the same seed and data. By default it is what all complete trials have
    in common, with the latest ranges.
    `noise`: the standard deviation of every value, 0 for a deterministic objective; by default it is learned. The noise
    of one value may be told by `trial.set_user_attr("xstar:sd", 0.02)`.
    `stale_after`: seconds after which a running trial is taken for dead and no longer counted on. Where the storage has
    heartbeats, they decide as well.
    `use_pruned`: whether the last values of pruned trials teach the model, no better than the median of complete ones.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        method: str | Method = "pes",
        n_startup_trials: int | None = None,
        independent_sampler: BaseSampler | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        noise: float | None = None,
        stale_after: float | None = 86_400.0,
        use_pruned: bool = True,
        warn_independent_sampling: bool = True,
    ) -> None:
        find_method(method)
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else integer(seed, "seed", 0)
        self.method = method
        # One complete trial is needed before there is a model, so that 0 is as good as 1.
        self.n_startup_trials = (
            None if n_startup_trials is None else max(1, integer(n_startup_trials, "n_startup_trials", 0))
        )
        self.search_space = None if search_space is None else _check_distributions(search_space)
        self.noise = None if noise is None else check_sd(noise, "noise")
        self.stale_after = None if stale_after is None else positive(stale_after, "stale_after")
        self.use_pruned = use_pruned
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = warn_independent_sampling
        self._warned: set[str] = set()
        self._silent = False
        self._models = Models()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_models")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _models=Models(), _lock=threading.Lock())

    def reseed_rng(self) -> None:
        """Nothing of our own: random numbers depend on the trial's number, which no two workers share."""
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        _check_single(study)
        known = self.search_space
        if known is None:
            known = records.common_distributions(study.get_trials(deepcopy=False))
        return {name: distribution for name, distribution in known.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        _check_single(study)
        if not search_space:
            return {}
        # What has no choice any more is part of the model: trials with other values of it are of another function.
        known = self.search_space or records.common_distributions(study.get_trials(deepcopy=False))
        fixed = {name: distribution for name, distribution in known.items() if distribution.single()}
        with self._lock:
            try:
                suggestion = self._suggest(study, trial, {**fixed, **search_space})
            except SpaceExhausted as error:
                _logger.warning("trial %d repeats a point: %s", trial.number, error)
                return {}
        if suggestion.diagnostics["fallback"] is not None:
            how = map(suggestion.diagnostics.get, ("method", "fallback"))
            _logger.info("trial %d was suggested by %s: %s", trial.number, *how)
        return {name: suggestion.params[name] for name in search_space}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        _check_single(study)
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
        """What the study says, as an `Optimizer` with the sampler's settings."""
        trials = study.get_trials(deepcopy=False)
        known = search_space or self.search_space or records.common_distributions(trials)
        if not known:
            raise SettingsError(
                f"the study {study.study_name!r} has no complete trial yet, so its parameters are not known; pass "
                "search_space= to the sampler to name them."
            )
        space = records.to_space(known)
        stale = records.stale_trials(study, trials, self.stale_after)
        return self._told(study, self._evidence(study, trials, known, space, stale), space)

    def _evidence(
        self,
        study: Study,
        trials: Sequence[FrozenTrial],
        distributions: Mapping[str, BaseDistribution],
        space: Space,
        without: Collection[int],
    ) -> list[Trial]:
        """What trials say, except some."""
        return records.to_trials(
            trials, distributions, space,
            direction=Direction.parse(study.direction.name.lower()), use_pruned=self.use_pruned, without=without,
        )  # fmt: skip

    def _told(self, study: Study, evidence: Sequence[Trial], space: Space) -> Optimizer:
        return Optimizer.from_trials(
            evidence, space, study.direction.name.lower(), self.method, self.seed,
            models=self._models, noise=self.noise, num_initial=self.n_startup_trials,
        )  # fmt: skip

    def _suggest(self, study: Study, trial: FrozenTrial, distributions: dict[str, BaseDistribution]) -> Trial:
        """The suggestion, shared; made again if another worker has meanwhile taken nearly the same point."""
        space = records.to_space(distributions)
        held = records.settled(trial, distributions)
        for _ in range(ATTEMPTS):
            trials = study.get_trials(deepcopy=False)
            stale = records.stale_trials(study, trials, self.stale_after)
            evidence = self._evidence(study, trials, distributions, space, stale | {trial.number})
            self._warn_of_silence(trials, evidence)
            known = {other.number for other in evidence}
            optimizer = self._told(study, evidence, space)
            for other in records.choosing(trials, trial, known | stale, distributions):
                # It is about to take what it would be given: count on that, as in a batch.
                taken = optimizer.propose(other.number, records.settled(other, distributions))
                evidence.append(Trial(other.number, taken.params))
                optimizer = self._told(study, evidence, space)
            suggestion = optimizer.propose(trial.number, held)
            records.share(study._storage, trial, suggestion, distributions)
            later = study.get_trials(deepcopy=False)
            news = self._evidence(study, later, distributions, space, known | stale | {trial.number})
            if not _is_close(suggestion, news, space):
                break
        return suggestion


def _check_distributions(search_space: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    for name, distribution in dict(search_space).items():
        if not isinstance(distribution, BaseDistribution):
            raise SettingsError(
                f'search_space has {distribution!r} for "{name}"; it needs distributions of Optuna, for example '
                "FloatDistribution(0.0, 1.0)."
            )
    records.to_space(search_space)  # which complains about what it cannot hold
    return dict(search_space)


def _is_close(suggestion: Trial, others: Sequence[Trial], space: Space) -> bool:
    """Whether one of the others is nearly the same experiment."""
    row = space.encode(suggestion.params)
    return any(bool(np.all(np.abs(space.encode(other.params) - row) < CLOSE)) for other in others)


def load_optimizer(study: Study, sampler: XstarSampler | None = None) -> Optimizer:
    """What a study says, as an `Optimizer`: recommend, where, explain, pictures, a report.

    Its settings are those of the study's own sampler if that is an `XstarSampler`, or of the one given. It is a copy:
    what is asked of it or told to it does not reach the study.
    """
    _check_single(study)
    own = study.sampler if isinstance(study.sampler, XstarSampler) else XstarSampler(seed=0)
    return (sampler or own).optimizer(study)


def _check_single(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError("xstar optimizes one objective; this study has several. Use another sampler for it.")
