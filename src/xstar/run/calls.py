"""Maximize or minimize a function of Python in one call."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from xstar.engine.stopping import Tolerance
from xstar.engine.suggest import NUMERICAL
from xstar.errors import SettingsError, TrialError
from xstar.methods import Method
from xstar.numerics.checks import integer, positive
from xstar.optimizer import Optimizer
from xstar.run.loop import Bar, Callback, Caught, Loop, Measurable
from xstar.run.result import Result, StopReason
from xstar.space import SpaceLike
from xstar.trial import OptimumPosterior, Recommendation


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
        How points are chosen: "pes", "logei", "thompson", "mes", "random"; "pes-alone", "pes-nb", "pes-2014", "es",
        "ei", as papers have them; or a `Method` of your own.
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

    All parameters are those of `maximize`.

    Returns
    -------
    Result
        As of `maximize`.

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
    """Maximize or minimize a function, as `direction` says.

    The other parameters are those of `maximize`.

    Parameters
    ----------
    direction : {"maximize", "minimize"}, optional
        Whether larger or smaller values are better; by default "maximize", or that of the optimizer given.

    Returns
    -------
    Result
        As of `maximize`.

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
    elif not isinstance(optimizer, Optimizer):
        raise SettingsError(f"optimizer must be an Optimizer; received {optimizer!r}.")
    elif space is not None:
        raise SettingsError("give a space or an optimizer, not both: an optimizer has its own space.")
    elif direction not in (None, optimizer.direction):
        raise SettingsError(f"the optimizer is one to {optimizer.direction}, not to {direction}.")
    elif (method, seed, noise, num_initial, threads, compute) != ("pes", 0, None, None, 1, "numpy"):
        raise SettingsError(
            "method, seed, noise, num_initial, threads and compute are the optimizer's own; leave them out."
        )
    rule = None if tolerance is None else Tolerance(tolerance)
    loop = Loop(optimizer, function, budget, rule, max_seconds, max_failures, catch, callback, save)
    with Bar(progress, budget) as bar:
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


def _result(optimizer: Optimizer, reason: StopReason) -> Result:
    """The result, with as much as can be had: what was told is not lost to a last computation that fails."""
    best: Recommendation | None = None
    tested: Recommendation | None = None
    where: OptimumPosterior | None = None
    try:
        best = optimizer.recommend()
        where = optimizer.where()
        tested = optimizer.recommend(tested=True)
    except (TrialError, *NUMERICAL, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt):
            reason = "interrupted"
    return Result(best, tested, optimizer.best_observed, optimizer.trials, where, reason, optimizer)
