"""The optimizer: ask for the next point, tell its value, and at any time ask what is known about the optimum.

    opt = Optimizer(space, direction="maximize", seed=0)
    trial = opt.ask()
    opt.tell(trial, measure(trial.params))
    opt.recommend()

A suggestion is a pure function of the settings, the seed, what was told, and the number of the trial.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, SupportsFloat, TypeVar, overload

import numpy as np

from xstar.beliefs import Calibration, Importance, OptimumPosterior, ParetoFront
from xstar.cards import card
from xstar.direction import Direction
from xstar.engine import Evidence, Model, Models, Settings, answers, gather
from xstar.engine.calibration import calibration
from xstar.engine.evidence import noise_of
from xstar.engine.fit import NUMERICAL, fit_simply
from xstar.engine.importance import importance
from xstar.engine.joint import (
    JointEvidence,
    JointModel,
    JointModels,
    gather_each,
    of_output,
    suggest_jointly,
)
from xstar.engine.joint import answers as joint_answers
from xstar.engine.suggest import needs_model, suggest
from xstar.errors import (
    DataError,
    DegradedWarning,
    FileError,
    SettingsError,
    SpaceError,
    SpaceExhausted,
    TrialError,
    XstarError,
)
from xstar.files import study, tables
from xstar.files.frames import frame_of
from xstar.files.tables import TableLike
from xstar.goals import Constraint, Goals, Objective
from xstar.ledger import Ledger
from xstar.methods import Method
from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import array_of, integer, positive
from xstar.numerics.rounding import with_digits
from xstar.numerics.threads import limited_threads
from xstar.search import Domain
from xstar.space import Point, Space, SpaceLike
from xstar.trial import Explanation, Recommendation, Trial, TrialLike, Value, check_sd, check_value

Answer = TypeVar("Answer")
SHOWN_TRIALS = 8
"""Trials that a notebook shows of an optimizer: the last ones."""


class Optimizer:
    """Suggest evaluations of an expensive, noisy function, and say what is known about its optimum.

    Parameters
    ----------
    space : Space, dict of parameters, or list of (low, high) pairs
        What may be varied.
    direction : {"maximize", "minimize"}
        Whether larger or smaller values are better.
    method : str or Method
        How points are chosen: "pes", "logei", "thompson", "mes", "random"; "pes-alone", "pes-nb", "pes-2014", "es",
        "ei", as papers have them; or a `Method` of your own.
    seed : int, optional
        A whole number; None draws one.
    noise : float or dict, optional
        The standard deviation of every value that is told without one of its own; 0 for a function without noise. By
        default it is learned. For several outputs, one for all or some by name.
    num_initial : int, optional
        How many evaluations fill the space before the model is asked; by default the number of parameters that vary
        plus one, from 3 to 10.
    threads : int, optional
        Of linear algebra; one is best unless there are thousands of data. None leaves the machine's setting.
    compute : str
        Where the model is computed: "numpy", "torch:cuda" (or another device of torch), or "cupy". Suggestions are the
        same, up to rounding.
    objectives : dict, optional
        For several outputs: what is to be maximized or minimized, by name; each a direction or an `Objective`.
    constraints : dict, optional
        Outputs that are to stay within a bound, by name; each a pair such as ("<=", 0.5), or a `Constraint`. Without
        objectives, the one objective is called "value".

    Raises
    ------
    SpaceError
        If the space makes no sense.
    SettingsError
        If another setting does.

    Notes
    -----
    Settings do not change afterwards. Evaluations may run anywhere, but an optimizer itself is to be asked and told
    from one thread.

    Examples
    --------
    >>> import xstar
    >>> opt = xstar.Optimizer([(0.0, 1.0)], direction="minimize", seed=0)
    >>> for _ in range(8):
    ...     trial = opt.ask()
    ...     _ = opt.tell(trial, (trial.x[0] - 0.3) ** 2)
    >>> round(float(opt.recommend().x[0]), 2)
    0.3
    """

    def __init__(
        self,
        space: SpaceLike,
        direction: str = "maximize",
        method: str | Method = "pes",
        seed: int | None = 0,
        *,
        noise: float | Mapping[str, float] | None = None,
        num_initial: int | None = None,
        threads: int | None = 1,
        compute: str = "numpy",
        objectives: Mapping[str, str | Objective] | None = None,
        constraints: Mapping[str, tuple[str, float] | Constraint] | None = None,
    ) -> None:
        self._settings = Settings.check(
            space, direction, method, seed, noise=noise, num_initial=num_initial, threads=threads, compute=compute,
            objectives=objectives, constraints=constraints,
        )  # fmt: skip
        self._ledger = Ledger(self._settings.space)
        self._models = Models()
        self._joint_models = JointModels()
        self._repeated = False
        self._warned_of: Evidence | None = None

    @classmethod
    def from_trials(
        cls,
        trials: Iterable[Trial],
        space: SpaceLike,
        *args: Any,
        models: Models | JointModels | None = None,
        **settings: Any,
    ) -> Optimizer:
        """Make an optimizer that has been told trials from elsewhere, which keep their numbers.

        Parameters
        ----------
        trials : iterable of Trial
            With different numbers.
        space : Space, dict of parameters, or list of (low, high) pairs
            What may be varied.
        *args, **settings
            The other arguments of `Optimizer`.
        models : Models or JointModels, optional
            Fitted models that several optimizers share; for internal use.

        Returns
        -------
        Optimizer
            One that knows these trials.

        Raises
        ------
        TrialError
            If two trials have the same number.
        """
        optimizer = cls(space, *args, **settings)
        return optimizer._knowing(trials, models)

    def with_trials(self, trials: Iterable[Trial]) -> Optimizer:
        """Make an optimizer with the same settings that was told these trials; if they say the same, its model holds.

        Parameters
        ----------
        trials : iterable of Trial
            With different numbers.

        Returns
        -------
        Optimizer
            Another one; this one stays as it is.
        """
        return self._knowing(trials)

    def _knowing(self, trials: Iterable[Trial], models: Models | JointModels | None = None) -> Optimizer:
        return self._with(self._settings, trials, models)

    def _with(self, settings: Settings, trials: Iterable[Trial], models: Models | JointModels | None) -> Optimizer:
        other = type(self).__new__(type(self))
        other._settings = settings
        other._models = models if isinstance(models, Models) else self._models
        other._joint_models = models if isinstance(models, JointModels) else self._joint_models
        other._ledger = Ledger(self.space, trials)
        other._repeated = False
        other._warned_of = None
        return other

    def __repr__(self) -> str:
        states = [trial.state for trial in self._ledger]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
        told = f"{counts or 'no trials yet'}"
        return f"Optimizer({self.space!r}, {str(self.goals or self.direction)!r}, {self.method_name!r}: {told})"

    # Settings

    @property
    def space(self) -> Space:
        """What may be varied."""
        return self._settings.space

    @property
    def direction(self) -> Direction:
        """Equal to "maximize" or "minimize"; of several outputs, that of the first objective."""
        return self._settings.direction

    @property
    def goals(self) -> Goals | None:
        """The objectives and constraints, where there are several outputs; else None."""
        return self._settings.goals

    @property
    def method(self) -> Method:
        """Kernels, inference and acquisition."""
        return self._settings.strategy

    @property
    def method_name(self) -> str:
        """The name of the method, or of its acquisition."""
        return self._settings.method_name

    @property
    def seed(self) -> int:
        """The seed, drawn if none was given."""
        return self._settings.seed

    @property
    def noise(self) -> float | None:
        """The standard deviation of values told without one of their own; None if it is learned."""
        return self._settings.noise

    @property
    def num_initial(self) -> int:
        """How many evaluations fill the space before the model is asked."""
        return self._settings.num_initial

    @property
    def threads(self) -> int | None:
        """Threads of linear algebra."""
        return self._settings.threads

    @property
    def compute(self) -> str:
        """Where the model is computed."""
        return self._settings.compute

    # Trials

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order of their numbers."""
        return self._ledger.in_order

    @property
    def best_observed(self) -> Trial | None:
        """The trial with the best value told for a legal point: with noise, the luckiest draw. None before any.

        With constraints, the best of those that meet them by the values told; None for several objectives (`pareto`).
        """
        done = [trial for trial in self.trials if trial.state == "done" and self.space.contains(trial.params)]
        if self.goals is not None:
            if self.goals.several:
                return None
            done = [trial for trial in done if trial.value is not None and self.goals.are_met(trial.values)]
        return self.direction.best(done, lambda trial: trial.value or 0.0)

    def output(self, name: str) -> Optimizer:
        """Return one of several outputs as a study of its own: to predict it, to draw it, to look at its importance.

        Parameters
        ----------
        name : str
            Of the output.

        Returns
        -------
        Optimizer
            One that knows the values of this output, and shares its model.

        Raises
        ------
        SettingsError
            If there is no such output.

        Examples
        --------
        >>> import xstar
        >>> opt = xstar.Optimizer([(0.0, 1.0)], constraints={"impurity": ("<=", 0.5)})
        >>> _ = opt.tell([0.5], {"value": 3.0, "impurity": 0.2})
        >>> opt.output("impurity").trials[0].value
        0.2
        """
        settings = self._settings.of_output(name)
        return self._with(settings, of_output(self._ledger, name), self._joint_models.each[name])

    @property
    def exhausted(self) -> bool:
        """Whether every legal point has been evaluated or is pending, and another evaluation would tell nothing new."""
        evidence = self._gather() if self.goals is None else self._gather_each().whole
        try:
            evidence.excluded(self.space.domain, self.noise if self.goals is None else self._settings.noise_of_all)
        except SpaceExhausted:
            return True
        return False

    # Asking

    @overload
    def ask(self, *, fixed: Mapping[str, Any] | None = None, last: bool = False, repeat: bool = True) -> Trial: ...

    @overload
    def ask(
        self, count: int, *, fixed: Mapping[str, Any] | None = None, last: bool = False, repeat: bool = True
    ) -> list[Trial]: ...

    def ask(
        self,
        count: int | None = None,
        *,
        fixed: Mapping[str, Any] | None = None,
        last: bool = False,
        repeat: bool = True,
    ) -> Trial | list[Trial]:
        """Suggest the next point to evaluate, or a batch of points that are informative together.

        Every point asked for is pending until its value is told, it is failed or withdrawn; later suggestions count on
        it.

        Parameters
        ----------
        count : int, optional
            The size of a batch; without it, one trial is returned and no list.
        fixed : dict, optional
            Some parameters, held at legal values of your choice: the others are what tells most then. If all are
            given, that is the point.
        last : bool
            Whether no other evaluation will follow: then the best posterior mean is evaluated, if it is above all that
            was tested. Methods without a balance, such as "ei", take no notice.
        repeat : bool
            Whether a point that was evaluated may be suggested again, to know its value better. False suits a value
            that is uncertain, yet would be the same again: the mean over folds that are the same for all candidates.

        Returns
        -------
        Trial or list of Trial
            A batch is shorter than `count` if the space has fewer points left.

        Raises
        ------
        SpaceExhausted
            If there is no point left.
        SpaceError
            If a fixed value is not legal.

        Warns
        -----
        DegradedWarning
            If a simpler method had to choose the point.
        """
        if count is None:
            return self._ask_one(fixed, last, repeat)
        integer(count, "count", 1)
        batch: list[Trial] = []
        for _ in range(count):
            try:
                batch.append(self._ask_one(fixed, last, repeat))
            except SpaceExhausted:
                if not batch:
                    raise
                break
        return batch

    def propose(
        self, number: int, fixed: Mapping[str, Any] | None = None, *, last: bool = False, repeat: bool = True
    ) -> Trial:
        """Return what `ask` would return as the trial of a number; nothing is recorded.

        Parameters
        ----------
        number : int
            Of the trial, from 0.
        fixed : dict, optional
            Some parameters, held at values of your choice.
        last : bool
            Whether no other evaluation will follow.
        repeat : bool
            Whether a point that was evaluated may be suggested again.

        Returns
        -------
        Trial
            A pending one.

        Raises
        ------
        SpaceExhausted
            If there is no point left.
        """
        integer(number, "number", 0)
        held = self.space.accept_some(fixed or {})
        if self.space.free and not set(self.space.free).difference(held):
            whole = self.space.decode(self.space.encode({**self.space.anywhere, **held}))
            return Trial(number, {**whole, **held}, diagnostics={"method": "fixed", "fallback": None})
        within = self.space.pin(held) if held else None
        if self.goals is not None:
            with self._limits():
                joint = suggest_jointly(
                    self._settings, self._gather_each(), self._joint_models, number, within, last=last, repeat=repeat
                )
            return Trial(number, {**self.space.decode(joint.row), **held}, diagnostics=joint.diagnostics)
        evidence = self._gather()
        # The first points need no linear algebra, and need not wait for it to be loaded; unless some have failed.
        modelled = needs_model(self._settings, evidence) or len(evidence.failed) > 0
        with self._limits() if modelled else nullcontext():
            found = suggest(self._settings, evidence, self._models, number, within, last=last, repeat=repeat)
        return Trial(number, {**self.space.decode(found.row), **held}, diagnostics=found.diagnostics)

    def _ask_one(self, fixed: Mapping[str, Any] | None, last: bool, repeat: bool) -> Trial:
        trial = self.propose(self._ledger.next_number, self.space.held(fixed), last=last, repeat=repeat)
        if trial.diagnostics["fallback"] is not None:
            warnings.warn(
                f"trial {trial.number} was suggested by {trial.diagnostics['method']}: "
                f"{trial.diagnostics['fallback']}.",
                DegradedWarning,
                stacklevel=3,
            )
        return self._ledger.store(trial)

    # Telling

    def tell(
        self,
        trial: TrialLike,
        value: SupportsFloat | Value | Mapping[str, SupportsFloat | Value | None] | None,
        sd: float | Mapping[str, float] | None = None,
        *,
        replace: bool = False,
    ) -> Trial:
        """Tell the value of a trial, or of parameters that nobody asked for.

        Parameters
        ----------
        trial : Trial, int, dict, or sequence of numbers
            A trial or its number; or parameters (for bounds, a sequence of numbers), which complete the pending trial
            that has them, if there is one. Parameters may lie outside the bounds: they still teach the model. A bare
            number is never a point: for one parameter, write [3.0].
        value : float, Value, None, or dict of these
            What was measured. NaN, infinite values and None are failures. Of several outputs, a dictionary by name;
            what is missing there may be told later, and none of them at all is a failure.
        sd : float or dict, optional
            The standard deviation of the value's noise, if it is known; of several outputs, by name.
        replace : bool
            Whether to correct a result told before.

        Returns
        -------
        Trial
            As it is now.

        Raises
        ------
        TrialError
            If there is no such trial, or it has a result already.
        DataError
            If the value is not a number.
        SpaceError
            If the parameters are not those of the space.

        Warns
        -----
        UserWarning
            If two results contradict each other or the noise that was promised, or look as if there were none.
        """
        if self.goals is not None:
            return self._tell_outputs(trial, value, sd, overwrite=replace)
        if isinstance(value, Mapping) or isinstance(sd, Mapping):
            raise DataError(
                f"a value must be one number; received {value!r}. Several outputs are named when the optimizer is "
                "made: objectives= and constraints=."
            )
        if isinstance(value, Value):
            if sd is not None and value.sd is not None:
                raise DataError(f"sd is given twice: {value!r} has one, and sd={sd!r}.")
            sd = value.sd if sd is None else sd
            value = value.value
        sd = None if sd is None else check_sd(sd, "sd")
        number = check_value(value)
        if number is None:
            return self.fail(trial, f"value was {value!r}", replace=replace)
        told = self._ledger.record(trial, "done", overwrite=replace, value=number, sd=sd, reason=None)
        self._warn_of_contradictions(told)
        self._suggest_no_noise(told)
        return told

    def _tell_outputs(self, trial: TrialLike, values: Any, sd: Any, *, overwrite: bool) -> Trial:
        goals = self.goals
        assert goals is not None, "of a study of several outputs"
        if values is not None and not isinstance(values, Mapping):
            if len(goals.names) > 1 or isinstance(values, str):
                raise DataError(
                    f"there are several outputs, so their values are a dictionary such as "
                    f"{dict.fromkeys(goals.names, 0.0)}; received {values!r}."
                )
            values, sd = {goals.single: values}, None if sd is None else {goals.single: sd}
        if sd is not None and not isinstance(sd, Mapping):
            raise DataError(f"of several outputs, sd is a dictionary by name; received {sd!r}.")
        told, sds = goals.read(values or {}, sd)
        if not told:
            return self.fail(trial, f"values were {values!r}", replace=overwrite)
        known = self._ledger.find(trial)
        if known is not None and known.state == "done" and not overwrite and not set(told) & set(known.values):
            # The rest of an evaluation of which some outputs are known.
            told, sds, overwrite = {**known.values, **told}, {**known.sds, **sds}, True
        ordered = {name: told[name] for name in goals.names if name in told}
        value = None if goals.several else ordered.get(goals.single)
        own = None if goals.several else sds.get(goals.single)
        return self._ledger.record(
            trial, "done", overwrite=overwrite, value=value, sd=own, reason=None, values=ordered, sds=sds
        )

    def fail(self, trial: TrialLike, reason: str = "failed", *, replace: bool = False) -> Trial:
        """Report that an evaluation failed; the model learns to stay away from such places.

        Parameters
        ----------
        trial : Trial, int, dict, or sequence of numbers
            As for `tell`.
        reason : str
            Why, in words.
        replace : bool
            Whether to correct a result told before.

        Returns
        -------
        Trial
            As it is now.
        """
        return self._ledger.record(
            trial, "failed", overwrite=replace, value=None, sd=None, reason=str(reason), values={}, sds={}
        )

    def withdraw(self, trial: Trial | int, reason: str | None = None) -> Trial:
        """Take a trial back, pending or told: it counts no longer, as a value or as a failure.

        Parameters
        ----------
        trial : Trial or int
            A trial or its number.
        reason : str, optional
            Why, in words.

        Returns
        -------
        Trial
            As it is now.
        """
        given: Any = trial
        if isinstance(given, bool) or not isinstance(given, Trial | int | np.integer):
            raise TrialError(f"withdraw takes a trial or its number; received {trial!r}.")
        known = self._ledger.numbered(trial if isinstance(trial, Trial) else int(trial))
        return self._ledger.store(replace(
            known, state="withdrawn", value=None, sd=None, reason=reason, values={}, sds={}
        ))  # fmt: skip

    def tell_table(self, table: TableLike, value: str = "value", sd: str | None = None) -> list[Trial]:
        """Tell a table of old results.

        Parameters
        ----------
        table : path of a CSV file, list of dict, or pandas.DataFrame
            Columns are the names of the parameters, the value, and maybe its noise; others are ignored. Rows without a
            value (an empty cell, None, NaN in a DataFrame) are skipped; "nan" or "failed" as a value is a failure. Of
            several outputs, each has a column by its name, and maybe one for its noise: "yield" and "yield sd".
        value : str
            The column of the values, of one output.
        sd : str, optional
            The column of their standard deviations; by default "sd", if there is one.

        Returns
        -------
        list of Trial
            One for each row with a value.

        Raises
        ------
        DataError
            If any row is wrong; nothing is told then.
        """
        if self.goals is None:
            rows = tables.read(table, self.space, {value: sd or "sd"}, [value] if sd is None else [value, sd])
            return [self._tell_row(row, row.outcomes[value].value, row.outcomes[value].sd) for row in rows]
        if value != "value" or sd is not None:
            raise SettingsError(
                f"there are several outputs, each in the column of its name ({', '.join(self.goals.names)}), with its "
                'noise in a column such as "yield sd"; leave value= and sd= out.'
            )
        names = self.goals.names
        noises = {name: None if (own := f"{name} sd") in (*names, *self.space.parameters) else own for name in names}
        told = []
        for row in tables.read(table, self.space, noises, names):
            values = {name: found.value for name, found in row.outcomes.items() if found.value is not None}
            told.append(self._tell_row(row, values or None, {name: row.outcomes[name].sd for name in values}))
        return told

    def _tell_row(self, row: tables.Row, value: Any, sd: Any) -> Trial:
        if value is None:
            return self.fail(row.params, next(iter(row.outcomes.values())).reason)
        return self.tell(row.params, value, sd)

    def _warn_of_contradictions(self, told: Trial) -> None:
        if noise_of(told, self.noise) != 0.0:
            return
        for other in self._ledger:
            if other.number == told.number or other.state != "done" or noise_of(other, self.noise) != 0.0:
                continue
            if self.space.same(other.params, told.params):
                if other.value != told.value:
                    warnings.warn(
                        f"trials {other.number} and {told.number} have the same parameters and no noise, but different "
                        "values; their mean is used. Leave noise= and sd= out to let the noise be learned.",
                        UserWarning,
                        stacklevel=3,
                    )
                return

    def _suggest_no_noise(self, told: Trial) -> None:
        """Where the same point has the same value again: once, and only where points can be met again by themselves."""
        if self.noise is not None or told.sd is not None or self.space.domain.size is None or self._repeated:
            return
        for other in self._ledger:
            met = other.number != told.number and other.state == "done" and other.value == told.value
            if met and self.space.same(other.params, told.params):
                self._repeated = True
                warnings.warn(
                    f"trials {other.number} and {told.number} have the same parameters and exactly the same value. If "
                    "the function has no noise, say noise=0: then no point is evaluated twice.",
                    UserWarning,
                    stacklevel=3,
                )
                return

    # What is known

    def recommend(self, *, tested: bool = False, fixed: Mapping[str, Any] | None = None) -> Recommendation:
        """Return the point with the best posterior mean.

        Parameters
        ----------
        fixed : dict, optional
            Some parameters, held at legal values of your choice: the others are the best for these.
        tested : bool
            Whether it shall be one that has been evaluated. By default that is not asked for, but a point that has not
            been evaluated is recommended only if it is known to be better than the best one that has.

        Returns
        -------
        Recommendation
            The parameters, the posterior mean there and its standard deviation, and whether they were evaluated.

        Raises
        ------
        TrialError
            If nothing has been told yet; or, for a tested point, nothing inside the space, or with what is fixed.
        SpaceError
            If a fixed value is not legal.
        SettingsError
            If there are several objectives: then `pareto` has the compromises.
        """
        held = self.space.held(fixed)
        part = self.space.pin(held) if held else None
        if self.goals is not None:
            confirmed = self._recommend_jointly(part, tested=tested)
            if confirmed is None:
                raise TrialError("no point of the space has been evaluated yet that may be feasible.")
            return confirmed
        answer = answers.best_tested if tested else answers.recommendation
        found = self._answer(lambda model: answer(model, self._claims(model), part))
        if found is None and held:
            raise TrialError(f"no point with {self.space.show(held)} has been evaluated yet.")
        if found is None:
            raise TrialError("no point of the space has been evaluated yet; what was told lies outside it.")
        return found

    def _recommend_jointly(self, part: Domain | None, *, tested: bool) -> Recommendation | None:
        assert self.goals is not None, "of a study of several outputs"
        if self.goals.several:
            raise SettingsError(
                "several objectives have no single best point; pareto() has the compromises, and output(name) the "
                "study of one output."
            )
        with self._limits():
            joint, joint_claims = self._joint_model(), self._joint_model(claims=True)
            if tested:
                return joint_answers.best_tested(joint, joint_claims, part)
            return joint_answers.recommendations(joint, joint_claims, part)[0]

    def pareto(self) -> ParetoFront:
        """Return the best compromises between several objectives.

        Returns
        -------
        ParetoFront
            The recommended points with forecasts of all outputs, and the trials that no other one dominates.

        Raises
        ------
        SettingsError
            If there is one output.
        TrialError
            If nothing has been told yet, or nothing of an output.
        """
        if self.goals is None:
            raise SettingsError("there is one output; recommend() has the best point.")
        with self._limits():
            return joint_answers.pareto(self._joint_model(), self._joint_model(claims=True), self.trials)

    def where(self, num_samples: int = 200) -> OptimumPosterior:
        """Draw where the optimum is, and how much better it is than the recommendation.

        Parameters
        ----------
        num_samples : int
            How many draws.

        Returns
        -------
        OptimumPosterior
            The draws, with credible intervals and quantiles of the regret.

        Raises
        ------
        TrialError
            If nothing has been told yet.
        """
        integer(num_samples, "num_samples", 1)
        if self.goals is not None:
            with self._limits():
                joint = self._joint_model()
                where = joint_answers.optimum_posterior(joint, self._joint_model(claims=True), num_samples, self.trials)
                said = {name: calibration(own, of_output(self.trials, name)) for name, own in joint.models.items()}
                surprises = [f"{name}: {one.recent_surprise}" for name, one in said.items() if one.recent_surprise]
                return replace(where, surprise="; ".join(surprises))

        def answer(model: Model) -> OptimumPosterior:
            found = answers.optimum_posterior(model, self._claims(model), num_samples)
            said = [] if model.fallback is None else [f"{model.fallback}; a simpler one says this"]
            surprise = calibration(model, self.trials).recent_surprise
            return replace(found, surprise="; ".join([*said, *([surprise] if surprise else [])]))

        return self._answer(answer)

    def predict(self, points: Sequence[Point | Trial]) -> tuple[HostArray, HostArray]:
        """Predict the function at some parameters.

        Parameters
        ----------
        points : sequence of dict, of sequences of numbers, or of Trial
            Parameters, as for `tell`.

        Returns
        -------
        mean, sd : ndarray of shape (m,)
            Of the function, in the user's units. Where nothing is known, they may be far from anything told
            (`plausible`).

        Raises
        ------
        TrialError
            If nothing has been told yet.
        """
        rows = self._rows(points)
        return self._answer(lambda model: model.predict_values(rows))

    def interval(self, points: Sequence[Point | Trial], probability: float = 0.95) -> tuple[HostArray, HostArray]:
        """Predict between which values the function is at some parameters.

        Parameters
        ----------
        points : sequence of dict, of sequences of numbers, or of Trial
            Parameters, as for `tell`.
        probability : float
            That the function is inside.

        Returns
        -------
        low, high : ndarray of shape (m,)
            The ends of central intervals, in the user's units. They are not symmetric about the mean where values were
            warped.

        Raises
        ------
        TrialError
            If nothing has been told yet.
        SettingsError
            If the probability is not between 0 and 1.
        """
        share = positive(probability, "probability", below=1.0)
        rows = self._rows(points)
        return self._answer(lambda model: model.interval(rows, share))

    def similarity(self, points: Sequence[Point | Trial], others: Sequence[Point | Trial]) -> HostArray:
        """Compute how alike the values at some parameters and at others must be, by what the model has learned.

        Parameters
        ----------
        points, others : sequence of dict, of sequences of numbers, or of Trial
            Parameters, as for `tell`, equally many.

        Returns
        -------
        ndarray of shape (m,)
            1 for the same parameters, 0 where two values may differ by as much as the values told do.

        Raises
        ------
        TrialError
            If nothing has been told yet.
        """
        rows, other_rows = self._rows(points), self._rows(others)
        return self._answer(lambda model: model.similarity(rows, other_rows))

    def information(self, points: Sequence[Point | Trial]) -> HostArray:
        """Compute how much evaluations at some parameters would tell about where the optimum is.

        Parameters
        ----------
        points : sequence of dict, of sequences of numbers, or of Trial
            Parameters, as for `tell`.

        Returns
        -------
        ndarray of shape (m,)
            Bits; of several outputs, those of all of them together.

        Raises
        ------
        TrialError
            If nothing has been told yet.
        """
        rows = self._rows(points)
        if self.goals is not None:
            with self._limits():
                joint = self._gather_each()
                each = joint_answers.information(self._joint_model(joint), rows, joint.whole.pending)
                return np.asarray(sum(each.values()))
        evidence = self._gather()
        return self._answer(lambda model: answers.information(model, rows, evidence.pending), evidence)

    def explain(self, trial: TrialLike) -> Explanation:
        """Explain why a trial, or any parameters, are worth evaluating, given everything told but its own result.

        Parameters
        ----------
        trial : Trial, int, dict, or sequence of numbers
            As for `tell`.

        Returns
        -------
        Explanation
            Expected information, prediction, probability of feasibility, and which method made the suggestion.

        Raises
        ------
        TrialError
            If nothing else has been told yet.
        """
        known = self._ledger.find(trial)
        params = self.space.accept(trial) if known is None else known.params
        if self.goals is not None:
            others = [other for other in self._ledger if known is None or other.number != known.number]
            with self._limits():
                joint = gather_each(self._settings, others)
                return joint_answers.explanation(
                    self._joint_model(joint), params, joint.whole.pending, {} if known is None else known.diagnostics
                )
        evidence = self._gather(lambda other: known is None or other.number != known.number)
        if evidence.count == 0:
            raise TrialError("nothing has been told yet but this trial, so there is nothing to explain it by.")
        diagnostics = {} if known is None else known.diagnostics
        return self._answer(lambda model: answers.explanation(model, params, evidence.pending, diagnostics), evidence)

    def importance(self, num_points: int = 256) -> Importance:
        """Compute how much each parameter matters, for the values and for what evaluations tell.

        Parameters
        ----------
        num_points : int
            Pairs of points from which the shares are estimated.

        Returns
        -------
        Importance
            Total Sobol indices with 90 % intervals.

        Raises
        ------
        TrialError
            If nothing has been told yet.

        Examples
        --------
        >>> import xstar
        >>> opt = xstar.Optimizer([(0.0, 1.0), (0.0, 1.0)], method="logei", num_initial=12, noise=0.0)
        >>> for trial in opt.ask(12):
        ...     _ = opt.tell(trial, trial.x[0] ** 2)
        >>> opt.importance().ranked
        ['x0', 'x1']
        """
        integer(num_points, "num_points", 2)
        evidence = self._gather()
        return self._answer(lambda model: importance(model, evidence.pending, num_points), evidence)

    def calibration(self) -> Calibration:
        """Predict every value told from all the others.

        Returns
        -------
        Calibration
            Predictions with 95 % intervals, and the values that surprise; without entries for fewer than three values.

        Raises
        ------
        TrialError
            If nothing has been told yet.
        """
        return self._answer(lambda model: calibration(model, self.trials))

    @property
    def plausible(self) -> tuple[float, float]:
        """Values that something supports: between those told, and as far beyond as these are apart.

        Where the model extrapolates, `predict` may return others; `explain`, `recommend` and pictures say so.
        """
        return self._answer(lambda model: model.plausible)

    # Tables and files

    def to_dataframe(self) -> Any:
        """Return all trials as a table.

        Returns
        -------
        pandas.DataFrame
            A row for each trial: its number, its state, the parameters, the value and its noise, and how it came about.
            Several outputs have two columns each, such as "yield" and "yield sd".

        Raises
        ------
        SettingsError
            If pandas is not installed.

        Examples
        --------
        >>> import xstar
        >>> opt = xstar.Optimizer([(0.0, 1.0)])
        >>> _ = opt.tell([0.5], 3.0)
        >>> list(opt.to_dataframe().columns)
        ['trial', 'state', 'x0', 'value', 'sd', 'reason', 'suggested by']
        """
        return frame_of(self.trials, self.space.parameters, None if self.goals is None else self.goals.names)

    def _repr_html_(self) -> str:
        """For notebooks: what is known, and the last trials."""
        states = [trial.state for trial in self._ledger]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "no trials yet"
        last = self.trials[-SHOWN_TRIALS:]
        rows = [
            (
                str(trial.number),
                *(self.space.parameters[name].show(value) for name, value in trial.params.items()),
                *self._told(trial),
            )
            for trial in last
        ]
        best = ""
        with suppress(TrialError):  # of something, nothing may be known yet
            several = self.goals is not None and self.goals.several
            best = (self.pareto() if several else self.recommend())._repr_html_()
        earlier = f"and {len(self.trials) - len(last)} earlier trials" if len(self.trials) > len(last) else ""
        title = f"Optimizer: {self.goals or self.direction} by {self.method_name}, {counts}"
        outputs = ("value",) if self.goals is None else self.goals.names
        return card(title, rows, earlier, head=("trial", *self.space.parameters, *outputs), inner=best)

    def _told(self, trial: Trial) -> tuple[str, ...]:
        """What was told of each output, or the state of a trial of which nothing was."""
        if self.goals is None:
            return (trial.state if trial.value is None else with_digits(trial.value, 6),)
        values = [with_digits(trial.values[name], 6) if name in trial.values else "" for name in self.goals.names]
        return tuple(values) if trial.values else (trial.state, *values[1:])

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, whole or not at all.

        Parameters
        ----------
        path : str or Path
            Of the file.

        Raises
        ------
        FileError
            If a choice or a part of the method is nothing that a JSON file can hold.
        """
        of = self._settings
        study.write(
            path,
            study.SavedStudy(of.space, of.direction, of.method, of.seed, of.noises or of.noise, of.num_initial,
                             of.threads, self.trials, of.goals),
        )  # fmt: skip

    @classmethod
    def load(cls, path: str | Path, space: SpaceLike | None = None, *, compute: str = "numpy") -> Optimizer:
        """Continue from a file.

        Parameters
        ----------
        path : str or Path
            Of a file that `save` has written.
        space : Space, dict of parameters, or list of (low, high) pairs, optional
            Another space of the same parameters: old data are kept, inside it or not.
        compute : str
            Where the model is computed. It is not stored: it is a matter of the machine.

        Returns
        -------
        Optimizer
            One that gives the same next suggestion.

        Raises
        ------
        FileError
            If the file is not there or damaged.
        """
        saved = study.read(path)
        array_of(compute)  # what is wrong with it is no damage of the file
        try:
            optimizer = cls(
                saved.space if space is None else space, saved.direction, saved.method, saved.seed,
                noise=saved.noise, num_initial=saved.num_initial, threads=saved.threads, compute=compute,
                objectives=None if saved.goals is None else saved.goals.objectives,
                constraints=None if saved.goals is None else saved.goals.constraints,
            )  # fmt: skip
        except (XstarError, *study.WRONG) as error:
            if space is not None and isinstance(error, XstarError):
                raise
            raise FileError(f"{str(path)!r} is damaged: {error}") from error
        try:
            return optimizer._knowing(saved.trials)
        except (XstarError, *study.WRONG) as error:
            if space is not None and isinstance(error, SpaceError):
                raise
            raise FileError(f"{str(path)!r} is damaged: {error}") from error

    # Inside

    @contextmanager
    def _limits(self) -> Iterator[None]:
        # Densities and weights far out are exp(-x) of a large x: that they underflow to zero is meant.
        with limited_threads(self.threads), np.errstate(under="ignore"):
            yield

    def _gather_each(self) -> JointEvidence:
        return gather_each(self._settings, self._ledger)

    def _joint_model(self, evidence: JointEvidence | None = None, *, claims: bool = False) -> JointModel:
        """The models of several outputs."""
        evidence = evidence or self._gather_each()
        if evidence.missing:
            raise TrialError(
                f"nothing has been told yet of {', '.join(evidence.missing)}; tell at least one value of it."
            )
        find = self._joint_models.for_claims if claims else self._joint_models.model
        return find(self._settings, evidence)

    def _gather(self, counts: Callable[[Trial], bool] = lambda _: True) -> Evidence:
        return gather(self._settings, [trial for trial in self._ledger if counts(trial)])

    def _model(self, evidence: Evidence | None = None) -> Model:
        """The model of evidence, by default of everything told so far; pending trials have no part in it."""
        if self.goals is not None:
            names = self.goals.names
            raise SettingsError(f"there are several outputs ({', '.join(names)}); ask for one: output({names[0]!r}).")
        evidence = evidence or self._gather()
        if evidence.count == 0:
            raise TrialError("nothing has been told yet; tell the value of at least one trial first.")
        return self._models.model(self._settings, evidence)

    def _claims(self, model: Model) -> Model:
        """The model that believes the same evidence less, for claims; none but itself for a simpler one."""
        return model if model.fallback is not None else self._models.for_claims(self._settings, model.evidence)

    def _answer(self, question: Callable[[Model], Answer], evidence: Evidence | None = None) -> Answer:
        """What a model of evidence answers, by default of everything told; a simpler one where it cannot."""
        with self._limits():
            model = self._model(evidence)
            try:
                answer = question(model)
            except NUMERICAL as error:
                if model.fallback is not None:
                    raise
                why = f"the model could not answer: {str(error).rstrip('.')}"
                model = fit_simply(self._settings, model.evidence, why)
                answer = question(model)
        if model.fallback is not None and model.evidence is not self._warned_of:
            self._warned_of = model.evidence
            warnings.warn(f"{model.fallback}; a simpler model answers.", DegradedWarning, stacklevel=3)
        return answer

    def _rows(self, points: Sequence[Point | Trial]) -> HostArray:
        if isinstance(points, Mapping | Trial | str) or not isinstance(points, Iterable):
            raise DataError("points must be a list of parameters or trials; for one point, put it into a list.")
        accepted = (self.space.accept(point.params if isinstance(point, Trial) else point) for point in points)
        rows = [self.space.encode(params) for params in accepted]
        return np.array(rows).reshape(len(rows), self.space.domain.dimension)
