"""One call: maximize or minimize a Python function, with a progress bar and reasons to stop."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, SupportsFloat, TypeAlias

import numpy as np

from xstar.engine.stopping import Tolerance
from xstar.engine.suggest import NUMERICAL
from xstar.errors import DataError, SettingsError, SpaceExhausted, TrialError
from xstar.methods import Method
from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import integer, positive
from xstar.optimizer import Optimizer
from xstar.space import SpaceLike
from xstar.trial import OptimumPosterior, Recommendation, Trial, summarize, vector

StopReason = Literal["budget", "tolerance", "time", "exhausted", "interrupted", "callback", "failures"]
MESSAGES: Mapping[StopReason, str] = {
    "budget": "the budget of evaluations is spent",
    "tolerance": "with 95 % probability, no more than the tolerance is left to gain",
    "time": "the time is over",
    "exhausted": "every point of the space has been evaluated",
    "interrupted": "the run was interrupted",
    "callback": "the callback asked to stop",
    "failures": "too many evaluations failed in a row",
}
"""The reasons to stop, in words."""

Measured: TypeAlias = SupportsFloat | tuple[SupportsFloat, float] | None
"""What an evaluation gives: a value, a pair (value, sd), or None for a failure."""
Measurable: TypeAlias = Callable[[Any], Measured]
"""The function of a run: it takes a dictionary of parameters, or an array if the space is a list of bounds."""
Callback: TypeAlias = Callable[[Optimizer, Trial], Any]
"""Called with the optimizer and the trial just told; the run stops when it returns True."""
Caught: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]
"""The exceptions of a function that count as failures of the point."""


@dataclass(frozen=True)
class Result:
    """What a run found.

    Attributes
    ----------
    params : dict or None
        The recommended parameters: the best posterior mean, not the luckiest draw. None if nothing was measured.
    x : ndarray or None
        The same as an array, in the order of the parameters.
    value, fun : float or None
        The posterior mean there, by our name and by SciPy's.
    sd : float or None
        Its standard deviation: of the function, not of another noisy evaluation.
    best_observed : Trial or None
        The trial with the best value told: with noise, the luckiest draw.
    trials : tuple of Trial
        All of them, in the order of their numbers.
    nfev : int
        How many of them were evaluated, failed ones included.
    where : OptimumPosterior or None
        What is known about where the optimum is.
    stop_reason : str
        "budget", "tolerance", "time", "exhausted", "interrupted", "callback" or "failures".
    message : str
        The same in words.
    success : bool
        Whether a point is recommended and the run was ended by neither failures nor an interruption.
    optimizer : Optimizer
        To go on with: ask, tell, explain, save.

    Examples
    --------
    >>> import xstar
    >>> result = xstar.minimize(lambda x: (x[0] - 0.3) ** 2, [(0.0, 1.0)], budget=8, method="logei")
    >>> result.success, result.nfev, result.message
    (True, 8, 'the budget of evaluations is spent')
    >>> result.fun == result.value
    True
    """

    params: Mapping[str, Any] | None
    value: float | None
    sd: float | None
    best_observed: Trial | None
    trials: tuple[Trial, ...]
    where: OptimumPosterior | None
    stop_reason: StopReason
    optimizer: Optimizer = field(repr=False)

    @property
    def fun(self) -> float | None:
        """The posterior mean at the recommended parameters, by SciPy's name."""
        return self.value

    @property
    def nfev(self) -> int:
        """How many trials were evaluated, failed ones included."""
        return sum(trial.state in ("done", "failed") for trial in self.trials)

    @property
    def message(self) -> str:
        """Why the run stopped, in words."""
        return MESSAGES[self.stop_reason]

    @property
    def success(self) -> bool:
        """Whether a point is recommended and the run was ended by neither failures nor an interruption."""
        return self.params is not None and self.stop_reason not in ("failures", "interrupted")

    @property
    def x(self) -> HostArray | None:
        """The recommended parameters as an array, in their order."""
        return None if self.params is None else vector(self.params)

    def report(self, path: str | Path) -> Path:
        """Write a page (HTML, one file) with the result, its trials and pictures.

        Parameters
        ----------
        path : str or Path
            Of the file.

        Returns
        -------
        Path
            The same.
        """
        from xstar.views.report import write_report

        return write_report(self.optimizer, path, self.stop_reason)

    def __str__(self) -> str:
        failed = sum(trial.state == "failed" for trial in self.trials)
        also = f", {failed} of them failed" if failed else ""
        lines = [f"{self.nfev} evaluations{also}, stopped by {self.stop_reason}"]
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


def maximize(
    function: Measurable,
    space: SpaceLike | None = None,
    budget: int | None = None,
    *,
    method: str | Method = "pes",
    seed: int | None = 0,
    noise: float | None = None,
    num_initial: int | None = None,
    threads: int | None = 1,
    compute: str = "numpy",
    tolerance: float | None = None,
    max_seconds: float | None = None,
    max_failures: int = 20,
    catch: Caught = (),
    callback: Callback | None = None,
    progress: bool = True,
    save: str | Path | None = None,
    optimizer: Optimizer | None = None,
) -> Result:
    """Maximize an expensive, noisy function in few evaluations.

    Parameters
    ----------
    function : callable
        Takes a dictionary of parameters, or an array if the space is a list of bounds; returns a number or a pair
        (value, sd). NaN, infinite values and None are failures.
    space : Space, dict of parameters, or list of (low, high) pairs
        What may be varied; left out if an optimizer is given.
    budget : int, optional
        Number of new evaluations, failed ones included. It may be left out if there is another reason to stop.
    method : str or Method
        How points are chosen: "pes", "pes-nb", "pes-2014", "es", "ei", "logei", "thompson", "mes", "random", or a
        `Method` of your own.
    seed : int, optional
        A whole number; None draws one.
    noise : float, optional
        The standard deviation of every value that is returned without one; 0 for a function without noise. By default
        it is learned.
    num_initial : int, optional
        How many evaluations fill the space before the model is asked; by default the number of parameters that vary
        plus one, from 3 to 10.
    threads : int, optional
        Of linear algebra; None leaves the machine's setting.
    compute : str
        Where the model is computed: "numpy", "torch:cuda" (or another device of torch), or "cupy".
    tolerance : float, optional
        Stop when, with probability 95 %, no more than so much is left to gain.
    max_seconds : float, optional
        Stop after so much time; an evaluation that has begun is finished.
    max_failures : int
        Stop after so many failures in a row.
    catch : exception class or tuple of them
        Exceptions of the function that count as failures of the point. Others end the run and are raised again; their
        trial is withdrawn.
    callback : callable, optional
        Called with the optimizer and each trial told; the run stops when it returns True.
    progress : bool
        Whether to show a progress bar on a terminal.
    save : str or Path, optional
        A file that is written after every evaluation, for `Optimizer.load`.
    optimizer : Optimizer, optional
        One to go on with, instead of a space; its own settings hold.

    Returns
    -------
    Result
        The recommendation, where the optimum may be, and all trials. Ctrl-C returns what has been found so far.

    Raises
    ------
    SettingsError
        If an option makes no sense, or there is no reason to stop.
    SpaceError
        If the space makes no sense.
    DataError
        If the function returns something else than described.

    Examples
    --------
    >>> import xstar
    >>> result = xstar.maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=8, method="logei")
    >>> round(float(result.x[0]), 2)
    0.3
    """
    return optimize(
        function, space, budget, direction="maximize", method=method, seed=seed, noise=noise, num_initial=num_initial,
        threads=threads, compute=compute, tolerance=tolerance, max_seconds=max_seconds, max_failures=max_failures,
        catch=catch, callback=callback, progress=progress, save=save, optimizer=optimizer,
    )  # fmt: skip


def minimize(
    function: Measurable,
    space: SpaceLike | None = None,
    budget: int | None = None,
    *,
    method: str | Method = "pes",
    seed: int | None = 0,
    noise: float | None = None,
    num_initial: int | None = None,
    threads: int | None = 1,
    compute: str = "numpy",
    tolerance: float | None = None,
    max_seconds: float | None = None,
    max_failures: int = 20,
    catch: Caught = (),
    callback: Callback | None = None,
    progress: bool = True,
    save: str | Path | None = None,
    optimizer: Optimizer | None = None,
) -> Result:
    """Minimize an expensive, noisy function in few evaluations.

    Parameters
    ----------
    function : callable
        Takes a dictionary of parameters, or an array if the space is a list of bounds; returns a number or a pair
        (value, sd). NaN, infinite values and None are failures.
    space : Space, dict of parameters, or list of (low, high) pairs
        What may be varied; left out if an optimizer is given.
    budget : int, optional
        Number of new evaluations, failed ones included. It may be left out if there is another reason to stop.
    method : str or Method
        How points are chosen: "pes", "pes-nb", "pes-2014", "es", "ei", "logei", "thompson", "mes", "random", or a
        `Method` of your own.
    seed : int, optional
        A whole number; None draws one.
    noise : float, optional
        The standard deviation of every value that is returned without one; 0 for a function without noise. By default
        it is learned.
    num_initial : int, optional
        How many evaluations fill the space before the model is asked; by default the number of parameters that vary
        plus one, from 3 to 10.
    threads : int, optional
        Of linear algebra; None leaves the machine's setting.
    compute : str
        Where the model is computed: "numpy", "torch:cuda" (or another device of torch), or "cupy".
    tolerance : float, optional
        Stop when, with probability 95 %, no more than so much is left to gain.
    max_seconds : float, optional
        Stop after so much time; an evaluation that has begun is finished.
    max_failures : int
        Stop after so many failures in a row.
    catch : exception class or tuple of them
        Exceptions of the function that count as failures of the point. Others end the run and are raised again; their
        trial is withdrawn.
    callback : callable, optional
        Called with the optimizer and each trial told; the run stops when it returns True.
    progress : bool
        Whether to show a progress bar on a terminal.
    save : str or Path, optional
        A file that is written after every evaluation, for `Optimizer.load`.
    optimizer : Optimizer, optional
        One to go on with, instead of a space; its own settings hold.

    Returns
    -------
    Result
        The recommendation, where the optimum may be, and all trials. Ctrl-C returns what has been found so far.

    Raises
    ------
    SettingsError
        If an option makes no sense, or there is no reason to stop.
    SpaceError
        If the space makes no sense.
    DataError
        If the function returns something else than described.

    Examples
    --------
    >>> import xstar
    >>> space = {"k": xstar.Integer(1, 6), "c": xstar.Categorical(["u", "v"])}
    >>> result = xstar.minimize(lambda p: abs(p["k"] - 4) + (p["c"] == "v"), space, budget=12, noise=0.0)
    >>> result.params
    {'k': 4, 'c': 'u'}
    """
    return optimize(
        function, space, budget, direction="minimize", method=method, seed=seed, noise=noise, num_initial=num_initial,
        threads=threads, compute=compute, tolerance=tolerance, max_seconds=max_seconds, max_failures=max_failures,
        catch=catch, callback=callback, progress=progress, save=save, optimizer=optimizer,
    )  # fmt: skip


def optimize(
    function: Measurable,
    space: SpaceLike | None = None,
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
    catch: Caught = (),
    callback: Callback | None = None,
    progress: bool = True,
    save: str | Path | None = None,
    optimizer: Optimizer | None = None,
) -> Result:
    """Evaluate a function where its results tell most about the optimum, until there is a reason to stop.

    Parameters
    ----------
    function : callable
        Takes a dictionary of parameters, or an array if the space is a list of bounds; returns a number or a pair
        (value, sd). NaN, infinite values and None are failures.
    space : Space, dict of parameters, or list of (low, high) pairs
        What may be varied; left out if an optimizer is given.
    budget : int, optional
        Number of new evaluations, failed ones included. It may be left out if there is another reason to stop.
    direction : {"maximize", "minimize"}, optional
        Whether larger or smaller values are better; by default "maximize", or that of the optimizer given.
    method : str or Method
        How points are chosen: "pes", "pes-nb", "pes-2014", "es", "ei", "logei", "thompson", "mes", "random", or a
        `Method` of your own.
    seed : int, optional
        A whole number; None draws one.
    noise : float, optional
        The standard deviation of every value that is returned without one; 0 for a function without noise. By default
        it is learned.
    num_initial : int, optional
        How many evaluations fill the space before the model is asked; by default the number of parameters that vary
        plus one, from 3 to 10.
    threads : int, optional
        Of linear algebra; None leaves the machine's setting.
    compute : str
        Where the model is computed: "numpy", "torch:cuda" (or another device of torch), or "cupy".
    tolerance : float, optional
        Stop when, with probability 95 %, no more than so much is left to gain.
    max_seconds : float, optional
        Stop after so much time; an evaluation that has begun is finished.
    max_failures : int
        Stop after so many failures in a row.
    catch : exception class or tuple of them
        Exceptions of the function that count as failures of the point. Others end the run and are raised again; their
        trial is withdrawn.
    callback : callable, optional
        Called with the optimizer and each trial told; the run stops when it returns True.
    progress : bool
        Whether to show a progress bar on a terminal.
    save : str or Path, optional
        A file that is written after every evaluation, for `Optimizer.load`.
    optimizer : Optimizer, optional
        One to go on with, instead of a space; its own settings hold.

    Returns
    -------
    Result
        The recommendation, where the optimum may be, and all trials. Ctrl-C returns what has been found so far.

    Raises
    ------
    SettingsError
        If an option makes no sense, or there is no reason to stop.
    SpaceError
        If the space makes no sense.
    DataError
        If the function returns something else than described.

    Examples
    --------
    >>> import xstar
    >>> result = xstar.optimize(lambda x: x[0], [(0.0, 1.0)], 6, direction="minimize", method="logei", tolerance=0.5)
    >>> result.stop_reason in ("budget", "tolerance")
    True
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
    rule = None if tolerance is None else Tolerance(tolerance)
    loop = _Loop(optimizer, function, budget, rule, max_seconds, max_failures, catch, callback, save)
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
    function: Measurable
    budget: int | None
    tolerance: Tolerance | None
    max_seconds: float | None
    max_failures: int
    catch: Caught
    callback: Callback | None
    save: str | Path | None
    _evaluated: int = 0
    _failed_in_a_row: int = 0
    _began: float = 0.0

    def run(self, bar: _Bar) -> StopReason:
        """Run, and return why it ended."""
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
        # Draws are made once, for the bar and for the tolerance.
        where = functools.cache(self.optimizer.where)
        done = sum(other.state == "done" for other in self.optimizer.trials)
        modelled = done >= self.optimizer.num_initial
        if bar.shown:
            rule = self.tolerance or Tolerance(math.inf)
            bar.show(self.optimizer, trial, rule.left(where(rule.few_samples)) if modelled else None)
        stop = self.callback is not None and self.callback(self.optimizer, trial)
        if isinstance(stop, bool | np.bool_) and stop:
            return "callback"
        if self._failed_in_a_row >= self.max_failures:
            return "failures"
        if self.tolerance is not None and modelled and self.tolerance.is_met(where):
            return "tolerance"
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
        """Show one more evaluation."""
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
