"""The optimizer: ask for the next point, tell its value, and at any time ask what is known about the optimum.

    opt = Optimizer(space, direction="maximize", seed=0)
    trial = opt.ask()
    opt.tell(trial, measure(trial.params))
    opt.recommend()

A suggestion is a pure function of the settings, the seed, what was told, and the number of the trial.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from xstar import repeats, saving, tables
from xstar.acquisition import PES
from xstar.errors import DataError, DegradedWarning, FileError, SettingsError, SpaceExhausted, TrialError, XstarError
from xstar.methods import Method, find_method
from xstar.model import Evidence, Model, fit, gather
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.numerics.checks import integer, place
from xstar.numerics.threads import limited_threads
from xstar.search import Domain
from xstar.space import Categorical, Space
from xstar.suggestion import NUMERICAL, Seeds, Suggestion, random_point, space_filling, suggest
from xstar.trial import Explanation, OptimumPosterior, Recommendation, State, Trial, check_sd, check_value


class Optimizer:
    """Suggests evaluations of an expensive, noisy function and says what is known about its optimum.

    `space`: a `Space`, a dictionary of parameters, or a list of (low, high) pairs.
    `direction`: "maximize" or "minimize".
    `method`: a name ("pes", "pes-nb", "pes-2014", "es", "ei", "logei", "thompson", "mes", "random") or a `Method`.
    `seed`: a whole number; None draws one.
    `noise`: the standard deviation of every value that is told without one of its own; 0 for a function without noise.
    By default it is learned.
    `num_initial`: how many evaluations fill the space before the model is asked; by default the number of parameters
    that vary plus one, from 3 to 10.
    `threads`: of linear algebra; one is best unless there are thousands of data. None leaves the machine's setting.
    `compute`: where the model is computed: "numpy", "torch:cuda" (or another device of torch), or "cupy". Suggestions
    are the same, up to rounding.

    Evaluations may run anywhere, but an optimizer itself is to be asked and told from one thread.
    """

    def __init__(
        self,
        space: Any,
        direction: str = "maximize",
        method: str | Method = "pes",
        seed: int | None = 0,
        *,
        noise: float | None = None,
        num_initial: int | None = None,
        threads: int | None = 1,
        compute: str = "numpy",
    ) -> None:
        self.space = Space.of(space)
        if direction not in ("maximize", "minimize"):
            raise SettingsError(f'direction must be "maximize" or "minimize"; received {direction!r}.')
        self.direction = direction
        self.method = find_method(method)
        self._method_given = method
        named = "random" if self.method.acquisition is None else type(self.method.acquisition).__name__.lower()
        self.method_name = method if isinstance(method, str) else named
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else integer(seed, "seed", 0)
        self.noise = None if noise is None else check_sd(noise, "noise")
        free = len(self.space.free)
        self.num_initial = min(max(free + 1, 3), 10) if num_initial is None else integer(num_initial, "num_initial", 1)
        self.threads = None if threads is None else integer(threads, "threads", 1)
        self._like = place(compute)
        self.compute = compute
        self._trials: dict[int, Trial] = {}
        self._fitted: Model | None = None

    @classmethod
    def from_trials(
        cls, trials: Iterable[Trial], space: Any, *args: Any, like: Optimizer | None = None, **settings: Any
    ) -> Optimizer:
        """An optimizer that has been told trials from elsewhere, which keep their numbers.

        The other arguments are those of `Optimizer`. If `like`, an earlier one with the same settings, was told the
        same results, its model is used again.
        """
        optimizer = cls(space, *args, **settings)
        for trial in sorted(trials, key=lambda trial: trial.number):
            integer(trial.number, "the number of a trial", 0)
            if trial.number in optimizer._trials:
                raise TrialError(f"there are two trials with the number {trial.number}.")
            optimizer._trials[trial.number] = replace(trial, params=optimizer.space.accept(trial.params))
        if like is not None and like._fitted is not None and optimizer._settings() == like._settings():
            evidence = optimizer._gather()
            if like._fitted.evidence.same_results(evidence):
                optimizer._fitted = replace(like._fitted, evidence=evidence)
        return optimizer

    def with_trials(self, trials: Iterable[Trial]) -> Optimizer:
        """An optimizer with the same settings that was told these trials; if they say the same, with the same model."""
        return Optimizer.from_trials(
            trials, self.space, self.direction, self._method_given, self.seed,
            like=self, noise=self.noise, num_initial=self.num_initial, threads=self.threads, compute=self.compute,
        )  # fmt: skip

    def __repr__(self) -> str:
        states = [trial.state for trial in self._trials.values()]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        return f"Optimizer({self.space!r}, {self.direction!r}, {self.method_name!r}: {counts or 'no trials yet'})"

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order of their numbers."""
        return tuple(_copy(self._trials[number]) for number in sorted(self._trials))

    @property
    def best_observed(self) -> Trial | None:
        """The trial with the best value told for a legal point: with noise, the luckiest draw. None before any."""
        done = [trial for trial in self.trials if trial.state == "done" and self.space.contains(trial.params)]
        return max(done, key=lambda trial: self._sign * (trial.value or 0.0), default=None)

    # Asking

    @overload
    def ask(self, *, fixed: Mapping[str, Any] | None = None) -> Trial: ...

    @overload
    def ask(self, count: int, *, fixed: Mapping[str, Any] | None = None) -> list[Trial]: ...

    def ask(self, count: int | None = None, *, fixed: Mapping[str, Any] | None = None) -> Trial | list[Trial]:
        """The next point to evaluate, or a batch of `count` points that are informative together.

        `fixed` holds some parameters at values of your choice: the others are what tells most then.

        Every point asked for is pending until its value is told, it is failed or withdrawn; later suggestions count on
        it. A batch is shorter than `count` if the space has fewer points left; with none left, `SpaceExhausted` is
        raised.
        """
        if count is None:
            return self._ask_one(fixed)
        integer(count, "count", 1)
        batch: list[Trial] = []
        for _ in range(count):
            try:
                batch.append(self._ask_one(fixed))
            except SpaceExhausted:
                if not batch:
                    raise
                break
        return batch

    def propose(self, number: int, fixed: Mapping[str, Any] | None = None) -> Trial:
        """What `ask` would return as the trial of this number; nothing is recorded."""
        integer(number, "number", 0)
        held = self.space.accept_some(fixed or {})
        with limited_threads(self.threads), np.errstate(all="ignore"):
            suggestion = self._suggest(number, self.space.pin(held) if held else None)
        return Trial(number, {**self.space.decode(suggestion.row), **held}, diagnostics=suggestion.diagnostics)

    def _ask_one(self, fixed: Mapping[str, Any] | None) -> Trial:
        trial = self.propose(self._next_number, fixed)
        if trial.diagnostics["why"] is not None:
            warnings.warn(
                f"trial {trial.number} was suggested by {trial.diagnostics['rung']}: {trial.diagnostics['why']}.",
                DegradedWarning,
                stacklevel=3,
            )
        self._trials[trial.number] = trial
        return _copy(trial)

    @property
    def _next_number(self) -> int:
        return max(self._trials, default=-1) + 1

    def _suggest(self, number: int, within: Domain | None) -> Suggestion:
        seeds = Seeds(self.seed, number)
        evidence = self._gather()
        forbidden = repeats.forbidden(self.space, self._trials.values(), self.noise, within)
        domain = self.space.domain if within is None else within
        if self.method.acquisition is None:
            return random_point(domain, forbidden, seeds)
        under_way = evidence.count + len(evidence.failed) + len(evidence.pending)
        if evidence.count == 0 or under_way < self.num_initial:
            return space_filling(domain, evidence, forbidden, seeds, None)
        try:
            model = replace(self._model(), evidence=evidence)
        except SettingsError:
            raise
        except NUMERICAL as error:
            return space_filling(
                domain, evidence, forbidden, seeds, f"the model could not be fitted: {str(error).rstrip('.')}"
            )
        return suggest(model, self.method.acquisition, self.method_name, domain, forbidden, seeds)

    # Telling

    def tell(self, trial: Any, value: Any, sd: float | None = None, *, replace: bool = False) -> Trial:
        """Tell the value of a trial, or of parameters that nobody asked for.

        `trial`: a `Trial` or its number; or a dictionary of parameters (for bounds, a sequence of numbers), which
        completes the pending trial with these parameters, if there is one. Parameters may lie outside the bounds: they
        still teach the model. `sd` is the standard deviation of the value's noise, if known. NaN, infinite
        values and None are failures. `replace=True` corrects a result told before.
        """
        sd = None if sd is None else check_sd(sd, "sd")
        number = check_value(value)
        if number is None:
            return self.fail(trial, f"value was {value!r}", replace=replace)
        told = self._record(trial, "done", replace, value=number, sd=sd, reason=None)
        self._warn_of_contradictions(told)
        return told

    def fail(self, trial: Any, reason: str = "failed", *, replace: bool = False) -> Trial:
        """Report that an evaluation failed; the model learns to stay away from such places."""
        return self._record(trial, "failed", replace, value=None, sd=None, reason=str(reason))

    def withdraw(self, trial: Trial | int, reason: str | None = None) -> Trial:
        """Take a trial back, pending or told: it counts no longer, as success or as failure."""
        if not isinstance(trial, Trial | int | np.integer):
            raise TrialError(f"withdraw takes a trial or its number; received {trial!r}.")
        return self._record(trial, "withdrawn", True, value=None, sd=None, reason=reason)

    def tell_table(self, table: Any, value: str = "value", sd: str | None = None) -> list[Trial]:
        """Tell a table of old results: the path of a CSV file, a list of dictionaries, or a pandas DataFrame.

        Columns are the names of the parameters, the one named `value`, and the one named `sd` (by default "sd", if
        there is one); others are ignored. Rows without a value (an empty cell, None, NaN in a DataFrame) are skipped;
        "nan" or "failed" as a value is a failure. If any row is wrong, nothing is told.
        """
        return [
            self.fail(row.params, row.reason) if row.value is None else self.tell(row.params, row.value, row.sd)
            for row in tables.read(table, self.space, value, sd)
        ]

    def _record(self, reference: Any, state: State, overwrite: bool, **outcome: Any) -> Trial:
        known = self._find(reference)
        if known is None:
            params = self.space.accept(reference.params if isinstance(reference, Trial) else reference)
            known = Trial(self._next_number, params)
        elif known.state != "pending" and not overwrite:
            raise TrialError(
                f"trial {known.number} is {known.state} already; use replace=True to correct it, or tell its "
                "parameters to add another result."
            )
        told = replace(known, state=state, **outcome)
        self._trials[told.number] = told
        self._fitted = None
        return _copy(told)

    def _warn_of_contradictions(self, told: Trial) -> None:
        if not repeats.is_exact(told, self.noise):
            return
        for other in self._trials.values():
            if other.number == told.number or not repeats.is_exact(other, self.noise):
                continue
            if other.value is not None and self.space.same(other.params, told.params):
                if other.value != told.value:
                    warnings.warn(
                        f"trials {other.number} and {told.number} have the same parameters and no noise, but different "
                        "values; their mean is used. Leave noise= and sd= out to let the noise be learned.",
                        UserWarning,
                        stacklevel=3,
                    )
                return

    def _find(self, reference: Any) -> Trial | None:
        """The trial that is meant; None for parameters of no trial."""
        if isinstance(reference, Trial):
            number = reference.number
        elif isinstance(reference, int | np.integer) and not isinstance(reference, bool):
            number = int(reference)
        else:
            params = self.space.accept(reference)
            pending = (trial for trial in self._trials.values() if trial.state == "pending")
            return next((trial for trial in pending if self.space.same(trial.params, params)), None)
        if number not in self._trials:
            known_ones = (
                f"the numbers go from {min(self._trials)} to {max(self._trials)}" if self._trials else "none yet"
            )
            raise TrialError(f"there is no trial {number}; {known_ones}.")
        known = self._trials[number]
        ours = isinstance(reference, Trial) and reference.params.keys() == known.params.keys()
        if isinstance(reference, Trial) and not (ours and self.space.same(known.params, reference.params)):
            raise TrialError(f"trial {number} of this optimizer has other parameters; is it from another one?")
        return known

    # What is known

    def recommend(self) -> Recommendation:
        """The point with the best posterior mean, with that mean and its standard deviation."""
        with limited_threads(self.threads), np.errstate(all="ignore"):
            model = self._model()
            return self._recommendation(model)

    def _recommendation(self, model: Model) -> Recommendation:
        mean, sd = self._in_user_units(model, *model.predict(model.best_row[None]))
        success = float(model.success_at(model.best_row[None])[0])
        return Recommendation(self.space.decode(model.best_row), float(mean[0]), float(sd[0]), success)

    def where(self, num_samples: int = 200) -> OptimumPosterior:
        """Draws of where the optimum is, and of how much better it is than the recommendation."""
        integer(num_samples, "num_samples", 1)
        with limited_threads(self.threads), np.errstate(all="ignore"):
            model = self._model()
            rows, best, here = model.sample_optima(num_samples, np.random.default_rng([self.seed, 3]))
            regret = np.maximum(model.scaling.inverse(best) - model.scaling.inverse(here), 0.0)
            if not model.scaling.informative:
                regret = np.full_like(regret, np.inf)  # of values that are all the same, nothing can be said
            points = [self.space.decode(row) for row in rows]
            params = {name: [point[name] for point in points] for name in self.space.parameters}
            return OptimumPosterior(params, regret, self._recommendation(model), self._unordered())

    def predict(self, points: Sequence[Any]) -> tuple[HostArray, HostArray]:
        """Mean and standard deviation of the function at some parameters, in the user's units; shapes (m,)."""
        rows = self._rows(points)
        with limited_threads(self.threads), np.errstate(all="ignore"):
            model = self._model()
            return self._in_user_units(model, *model.predict(rows))

    def information(self, points: Sequence[Any]) -> HostArray:
        """The information about the place of the optimum, in bits, that evaluations at some parameters would give."""
        rows = self._rows(points)
        with limited_threads(self.threads), np.errstate(all="ignore"):
            return self._bits(replace(self._model(), evidence=self._gather()), rows)

    def explain(self, trial: Any) -> Explanation:
        """Why a trial, or any parameters, are worth evaluating, given everything told but its own result."""
        known = self._find(trial)
        params = self.space.accept(trial) if known is None else known.params
        others = [other for other in self._trials.values() if known is None or other.number != known.number]
        with limited_threads(self.threads), np.errstate(all="ignore"):
            own_result = known is not None and known.state in ("done", "failed")
            evidence = gather(self.space, others, self._sign, self.noise)
            if evidence.count == 0:
                raise TrialError("nothing has been told yet but this trial, so there is nothing to explain it by.")
            model = self._fit(evidence) if own_result else replace(self._model(), evidence=evidence)
            return self._explanation(model, params, known)

    def _explanation(self, model: Model, params: Mapping[str, Any], trial: Trial | None) -> Explanation:
        row = self.space.encode(params)[None]
        mean, sd = self._in_user_units(model, *model.predict(row))
        diagnostics = {} if trial is None else trial.diagnostics
        told = np.concatenate([model.evidence.X, model.evidence.failed])
        gap = np.sqrt(np.min(np.sum((told - row) ** 2, axis=1)))
        return Explanation(
            params=params,
            bits=float(self._bits(model, row)[0]),
            mean=float(mean[0]),
            sd=float(sd[0]),
            nearest=float(gap),
            exploration=float(model.unknown_share(row)[0]),
            success=float(model.success_at(row)[0]),
            rung=diagnostics.get("rung"),
            why=diagnostics.get("why"),
        )

    # Saving

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, whole or not at all."""
        study = saving.Study(
            self.space, self.direction, self._method_given, self.seed, self.noise, self.num_initial, self.threads,
            self.trials,
        )  # fmt: skip
        saving.write(path, study)

    @classmethod
    def load(cls, path: str | Path, space: Any = None, *, compute: str = "numpy") -> Optimizer:
        """Continue from a file. With another `space` of the same parameters, old data are kept, inside it or not.

        Where to `compute` is not stored: it is a matter of the machine.
        """
        study = saving.read(path)
        place(compute)  # what is wrong with it is no damage of the file
        try:
            optimizer = cls(
                study.space, study.direction, study.method, study.seed,
                noise=study.noise, num_initial=study.num_initial, threads=study.threads, compute=compute,
            )  # fmt: skip
        except XstarError as error:
            raise FileError(f"{str(path)!r} is damaged: {error}") from error
        if space is not None:
            optimizer.space = Space.of(space)
        for trial in study.trials:
            optimizer._trials[trial.number] = replace(trial, params=optimizer.space.accept(trial.params))
        return optimizer

    # Inside

    @property
    def _sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    def _in_user_units(self, model: Model, mean: HostArray, sd: HostArray) -> tuple[HostArray, HostArray]:
        return self._sign * model.scaling.inverse(mean), model.scaling.spread(mean, sd)

    def _unordered(self) -> frozenset[str]:
        parameters = self.space.parameters.items()
        return frozenset(name for name, parameter in parameters if isinstance(parameter, Categorical))

    def _rows(self, points: Sequence[Any]) -> HostArray:
        if isinstance(points, Mapping | Trial):
            raise DataError("points must be a list of parameters or trials; for one point, put it into a list.")
        accepted = (self.space.accept(point.params if isinstance(point, Trial) else point) for point in points)
        rows = [self.space.encode(params) for params in accepted]
        return np.array(rows).reshape(len(rows), self.space.domain.dimension)

    def _bits(self, model: Model, rows: HostArray) -> HostArray:
        """The expected information at points (m, d), by the method's own PES or, if it has none, the default."""
        acquisition = self.method.acquisition if isinstance(self.method.acquisition, PES) else PES()
        score = model.prepare(acquisition, np.random.default_rng([self.seed, 4]))
        return to_numpy(score(rows)) / math.log(2.0)

    def _settings(self) -> tuple[Any, ...]:
        return self.space, self.direction, self._method_given, self.seed, self.noise, self.compute

    def _gather(self) -> Evidence:
        return gather(self.space, self._trials.values(), self._sign, self.noise)

    def _model(self) -> Model:
        """The model of everything told so far; pending trials have no part in it."""
        if self._fitted is None:
            evidence = self._gather()
            if evidence.count == 0:
                raise TrialError("nothing has been told yet; tell the value of at least one trial first.")
            self._fitted = self._fit(evidence)
        return self._fitted

    def _fit(self, evidence: Evidence) -> Model:
        return fit(self.space.domain, evidence, self.method, Seeds(self.seed, 0).inference(), self.noise, self._like)


def _copy(trial: Trial) -> Trial:
    """A record of its own: what the caller does to its parameters changes nothing here."""
    return replace(trial, params=dict(trial.params), diagnostics=dict(trial.diagnostics))
