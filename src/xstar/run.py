"""One call: maximize or minimize a Python function, with a progress bar and reasons to stop."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from xstar.engine.suggest import NUMERICAL
from xstar.errors import DataError, SettingsError, SpaceExhausted, TrialError
from xstar.methods import Method
from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import integer, positive
from xstar.optimizer import Optimizer
from xstar.trial import OptimumPosterior, Recommendation, Trial, summarize, vector

StopReason = Literal["budget", "tolerance", "time", "exhausted", "interrupted", "callback", "failures"]
Callback = Callable[[Optimizer, Trial], Any]
"""Called with the optimizer and the trial just told; the run stops when it returns True."""


@dataclass(frozen=True)
class Result:
    """What a run found."""

    params: Mapping[str, Any] | None
    """The recommended parameters: the best posterior mean, not the luckiest draw. None if nothing succeeded."""
    value: float | None
    """The posterior mean there."""
    sd: float | None
    """And its standard deviation."""
    best_observed: Trial | None
    trials: tuple[Trial, ...]
    where: OptimumPosterior | None
    """What is known about the place of the optimum."""
    stop_reason: StopReason
    optimizer: Optimizer = field(repr=False)
    """To go on with: ask, tell, explain, save."""

    @property
    def x(self) -> HostArray | None:
        """The recommended parameters as an array, in their order."""
        return None if self.params is None else vector(self.params)

    def report(self, path: str | Path) -> Path:
        """Write a page (HTML, one file) with the result, its trials and pictures; returns its path."""
        from xstar.views.report import write_report

        return write_report(self.optimizer, path, self.stop_reason)

    def __str__(self) -> str:
        failed = sum(trial.state == "failed" for trial in self.trials)
        count = failed + sum(trial.state == "done" for trial in self.trials)
        also = f", {failed} of them failed" if failed else ""
        lines = [f"{count} evaluations{also}, stopped by {self.stop_reason}"]
        if self.params is not None:
            lines += [
                f"recommended: {dict(self.params)!r}",
                f"value there: {self.value:.6g} ± {self.sd:.2g}",
            ]
        if self.where is not None:
            lines.append(str(self.where))
        if self.best_observed is not None:
            lines.append(f"best observed: {summarize(self.best_observed)}")
        return "\n".join(lines)


class RunOptions(TypedDict, total=False):
    """The options of `optimize`, for `maximize` and `minimize`."""

    method: str | Method
    seed: int | None
    noise: float | None
    num_initial: int | None
    threads: int | None
    compute: str
    tolerance: float | None
    max_seconds: float | None
    max_failures: int
    catch: type[BaseException] | tuple[type[BaseException], ...]
    callback: Callback | None
    progress: bool
    save: str | Path | None
    optimizer: Optimizer | None


def maximize(
    function: Callable[[Any], Any], space: Any = None, budget: int | None = None, **options: Unpack[RunOptions]
) -> Result:
    """Find the maximum of a function; see `optimize` for the options."""
    return optimize(function, space, budget, direction="maximize", **options)


def minimize(
    function: Callable[[Any], Any], space: Any = None, budget: int | None = None, **options: Unpack[RunOptions]
) -> Result:
    """Find the minimum of a function; see `optimize` for the options."""
    return optimize(function, space, budget, direction="minimize", **options)


def optimize(
    function: Callable[[Any], Any],
    space: Any = None,
    budget: int | None = None,
    *,
    direction: str | None = None,
    method: str | Method = "pes",
    seed: int | None = 0,
    noise: float | None = None,
    num_initial: int | None = None,
    threads: int | None = 1,
    compute: str = "numpy",
    tolerance: float | None = None,
    max_seconds: float | None = None,
    max_failures: int = 20,
    catch: type[BaseException] | tuple[type[BaseException], ...] = (),
    callback: Callback | None = None,
    progress: bool = True,
    save: str | Path | None = None,
    optimizer: Optimizer | None = None,
) -> Result:
    """Evaluate `function` where its results tell most about the optimum, until there is a reason to stop.

    The function takes a dictionary of parameters, or an array if the space is a list of bounds, and returns a number or
    a pair (value, sd). NaN, infinite values and None count as failures, and so do exceptions named in `catch`; others
    withdraw the trial, end the run and are raised again.

    Reasons to stop: `budget` new evaluations, failed ones included; `tolerance`: with probability 95 % no more than so
    much is left to gain; `max_seconds`; `max_failures` in a row; a `callback(optimizer, trial)` that returns True; a
    space with no point left; Ctrl-C, which returns what has been found so far.

    `save` names a file that is written after every evaluation. `optimizer` continues an earlier one (its space,
    direction and method hold then), for example `Optimizer.load("study.json")`.
    """
    _check_options(function, budget, tolerance, max_seconds, max_failures, catch, callback)
    if optimizer is None:
        if space is None:
            raise SettingsError("a run needs a space, for example [(0.0, 1.0), (-5.0, 5.0)], or an optimizer.")
        optimizer = Optimizer(
            space, direction or "maximize", method, seed,
            noise=noise, num_initial=num_initial, threads=threads, compute=compute,
        )  # fmt: skip
    elif space is not None:
        raise SettingsError("give a space or an optimizer, not both: an optimizer has its own space.")
    elif direction not in (None, optimizer.direction):
        raise SettingsError(f"the optimizer is one to {optimizer.direction}, not to {direction}.")
    elif (method, seed, noise, num_initial, threads, compute) != ("pes", 0, None, None, 1, "numpy"):
        raise SettingsError(
            "method, seed, noise, num_initial, threads and compute are the optimizer's own; leave them out."
        )
    loop = _Loop(optimizer, function, budget, tolerance, max_seconds, max_failures, catch, callback, save)
    with _Bar(progress, budget) as bar:
        reason = loop.run(bar)
    return _result(optimizer, reason)


def _check_options(
    function: Any,
    budget: int | None,
    tolerance: float | None,
    max_seconds: float | None,
    max_failures: int,
    catch: Any,
    callback: Any,
) -> None:
    if not callable(function):
        raise SettingsError(f"the function to optimize must be callable; received {function!r}.")
    if inspect.iscoroutinefunction(function):
        raise SettingsError("the function to optimize is asynchronous; use Optimizer.ask and tell around it.")
    if budget is None and tolerance is None and max_seconds is None:
        raise SettingsError("a run needs a reason to stop: budget=, tolerance= or max_seconds=.")
    if budget is not None:
        integer(budget, "budget", 1)
    if tolerance is not None:
        positive(tolerance, "tolerance")
    if max_seconds is not None:
        positive(max_seconds, "max_seconds")
    integer(max_failures, "max_failures", 1)
    for kind in catch if isinstance(catch, tuple) else (catch,):
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise SettingsError(f"catch must be an exception class or a tuple of them; received {catch!r}.")
    if callback is not None and not callable(callback):
        raise SettingsError(f"callback must be callable; received {callback!r}.")


@dataclass
class _Loop:
    """Ask, evaluate, tell, until there is a reason to stop."""

    optimizer: Optimizer
    function: Callable[[Any], Any]
    budget: int | None
    tolerance: float | None
    max_seconds: float | None
    max_failures: int
    catch: type[BaseException] | tuple[type[BaseException], ...]
    callback: Callback | None
    save: str | Path | None
    _evaluated: int = 0
    _failed_in_a_row: int = 0
    _began: float = 0.0

    def run(self, bar: _Bar) -> StopReason:
        """Why the run ended."""
        self._began = time.monotonic()
        self._save()  # if the file cannot be written, before any evaluation is spent
        reason: StopReason | None = None
        trial: Trial | None = None
        try:
            while reason is None:
                reason = self._reason_before()
                if reason is None:
                    trial = self.optimizer.ask()
                    trial = self._evaluate(trial)
                    reason = self._reason_after(trial, bar)
        except SpaceExhausted:
            return "exhausted"
        except KeyboardInterrupt:
            # The evaluation under way is lost, nothing else.
            if trial is not None and self.optimizer.trials[trial.number].state == "pending":
                self.optimizer.withdraw(trial, "interrupted")
            self._save()
            return "interrupted"
        return reason

    def _reason_before(self) -> StopReason | None:
        if self.budget is not None and self._evaluated >= self.budget:
            return "budget"
        if self.max_seconds is not None and time.monotonic() - self._began >= self.max_seconds:
            return "time"
        return None

    def _reason_after(self, trial: Trial, bar: _Bar) -> StopReason | None:
        self._evaluated += 1
        self._failed_in_a_row = self._failed_in_a_row + 1 if trial.state == "failed" else 0
        left = self._left_to_gain(bar)
        bar.show(self.optimizer, trial, left)
        stop = self.callback is not None and self.callback(self.optimizer, trial)
        if isinstance(stop, bool | np.bool_) and stop:
            return "callback"
        if self._failed_in_a_row >= self.max_failures:
            return "failures"
        if self.tolerance is not None and left is not None and left <= self.tolerance:
            # The few draws of every step may be lucky once: those of the result decide.
            confirmed = self.optimizer.where().regret_quantile(PROBABILITY) <= self.tolerance
            return "tolerance" if confirmed else None
        return None

    def _evaluate(self, trial: Trial) -> Trial:
        point = trial.x if self.optimizer.space.positional else dict(trial.params)
        try:
            outcome = self.function(point)
        except self.catch as error:
            told = self.optimizer.fail(trial, f"{type(error).__name__}: {error}")
            self._save()
            return told
        except Exception as error:
            self._give_up(
                trial, error, f" To count such errors as failures and go on, pass catch={type(error).__name__}."
            )
            raise
        value, sd = outcome if isinstance(outcome, tuple) and len(outcome) == 2 else (outcome, None)
        try:
            told = self.optimizer.tell(trial, value, sd)
        except DataError as error:
            self._give_up(trial, error, " The function must return a number or a pair (value, sd).")
            raise
        self._save()
        return told

    def _give_up(self, trial: Trial, error: Exception, hint: str) -> None:
        """Before an error is raised again: whether the point is to blame is not known, so it does not count."""
        self.optimizer.withdraw(trial, f"{type(error).__name__}: {error}")
        self._save()
        error.add_note(f"xstar: raised by trial {trial.number}, {dict(trial.params)}.{hint}")

    def _save(self) -> None:
        if self.save is not None:
            self.optimizer.save(self.save)

    def _left_to_gain(self, bar: _Bar) -> float | None:
        """The 95 % quantile of the regret, if anyone wants to know it."""
        done = sum(trial.state == "done" for trial in self.optimizer.trials)
        if done < self.optimizer.num_initial or (self.tolerance is None and not bar.shown):
            return None
        return self.optimizer.where(SAMPLES).regret_quantile(PROBABILITY)


PROBABILITY = 0.95
"""That no more than the tolerance is left to gain."""
SAMPLES = 100
"""Draws of the optimum for the quantile of the regret after each evaluation."""


def _result(optimizer: Optimizer, reason: StopReason) -> Result:
    """The result, with as much as can be had: what was told is not lost to a last computation that fails."""
    best: Recommendation | None = None
    where: OptimumPosterior | None = None
    try:
        best = optimizer.recommend()
        where = optimizer.where()
    except (TrialError, *NUMERICAL, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt):
            reason = "interrupted"
    params, mean, sd = (None, None, None) if best is None else (best.params, best.mean, best.sd)
    return Result(params, mean, sd, optimizer.best_observed, optimizer.trials, where, reason, optimizer)


class _Bar:
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self, wanted: bool, budget: int | None) -> None:
        self.shown = wanted and sys.stderr.isatty()
        self._bar: Any = None
        self._budget = budget

    def __enter__(self) -> _Bar:
        if self.shown:
            from tqdm import tqdm

            self._bar = tqdm(total=self._budget, unit="eval", dynamic_ncols=True)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, optimizer: Optimizer, trial: Trial, left: float | None) -> None:
        """One more evaluation."""
        if self._bar is None:
            return
        parts = []
        if any(other.state == "done" for other in optimizer.trials):
            best = optimizer.recommend()
            parts.append(f"best {best.mean:.4g} ± {best.sd:.1g}")
        if "bits" in trial.diagnostics:
            parts.append(f"{trial.diagnostics['bits']:.2g} bits")
        if left is not None:
            parts.append(f"regret < {left:.2g}")
        self._bar.set_postfix_str(", ".join(parts), refresh=False)
        self._bar.update()
