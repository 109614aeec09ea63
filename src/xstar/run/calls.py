"""Maximize or minimize a function of Python in one call."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, cast

from xstar.beliefs import OptimumPosterior, ParetoFront
from xstar.engine.fit import NUMERICAL
from xstar.errors import SettingsError, TrialError
from xstar.goals import Constraint, Objective
from xstar.methods import Method
from xstar.numerics.checks import integer
from xstar.optimizer import Optimizer
from xstar.run.bar import Bar
from xstar.run.evaluations import Evaluations
from xstar.run.loop import Caught, Loop
from xstar.run.outcome import Measurable, never_returns
from xstar.run.result import Result, StopReason
from xstar.run.rules import Callback, Rules
from xstar.run.start import start_with
from xstar.space import Point, SpaceLike
from xstar.trial import Recommendation


def maximize(
    function: Measurable,
    space: SpaceLike | None = None,
    budget: int | None = None,
    *,
    method: str | Method = "pes",
    seed: int | None = 0,
    noise: float | Mapping[str, float] | None = None,
    num_initial: int | None = None,
    threads: int | None = 1,
    compute: str = "numpy",
    objectives: Mapping[str, str | Objective] | None = None,
    constraints: Mapping[str, tuple[str, float] | Constraint] | None = None,
    tolerance: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    max_seconds: float | None = None,
    max_failures: int = 20,
    catch: Caught = (),
    callback: Callback | None = None,
    x0: Point | Sequence[Point] | None = None,
    y0: Any = None,
    n_jobs: int = 1,
    executor: Executor | None = None,
    progress: bool = True,
    save: str | Path | None = None,
    optimizer: Optimizer | None = None,
) -> Result:
    """Maximize an expensive, noisy function in few evaluations.

    Parameters
    ----------
    function : callable
        Takes a dictionary of parameters, or an array if the space is a list of bounds; returns a number, or an
        `xstar.Value` with the standard deviation of its noise. NaN, infinite values and None are failures. Of several
        outputs, it returns a dictionary of these by name; what is missing there is not known, and only if all are, the
        evaluation has failed.
    space : Space, dict of parameters, list of (low, high) pairs, or scipy.optimize.Bounds
        What may be varied; left out if an optimizer is given. What scikit-optimize and scipy.stats write is understood.
    budget : int, optional
        Number of new evaluations, failed ones included. It may be left out if there is another reason to stop.
    method : str or Method
        How points are chosen: "pes", "logei", "thompson", "mes", "random"; "pes-alone", "pes-nb", "pes-2014", "es",
        "ei", as papers have them; or a `Method` of your own.
    seed : int, optional
        A whole number; None draws one.
    noise : float or dict, optional
        The standard deviation of every value that is returned without one; 0 for a function without noise. By default
        it is learned. For several outputs, one for all or some by name.
    num_initial : int, optional
        How many evaluations fill the space before the model is asked; by default the number of parameters that vary
        plus one, from 3 to 10.
    threads : int, optional
        Of linear algebra; None leaves the machine's setting.
    compute : str
        Where the model is computed: "numpy", "torch:cuda" (or another device of torch), or "cupy".
    objectives : dict, optional
        For several outputs: what is to be maximized or minimized, by name; each a direction or an `Objective`. With
        several objectives, it does not matter which of the functions is called.
    constraints : dict, optional
        Outputs that are to stay within a bound, by name; each a pair such as ("<=", 0.5), or a `Constraint`. Without
        objectives, the one objective is called "value".
    tolerance : float, optional
        Stop when, with probability 95 %, no more than so much is left to gain; of several objectives, no more than
        this share of the hypervolume. With constraints, what is recommended must be feasible with that probability.
    target : float, optional
        Stop when a value as good as this was found; with noise, when the model says so too. Of one objective only.
    patience : int, optional
        Stop after so many evaluations in a row without a better value. Of one objective only.
    max_seconds : float, optional
        Stop after so much time; an evaluation that has begun is finished.
    max_failures : int
        Stop after so many failures in a row.
    catch : exception class or tuple of them
        Exceptions of the function that count as failures of the point. Others end the run and are raised again; their
        trial is withdrawn.
    callback : callable, optional
        Called with the optimizer and each trial told; the run stops when it returns True.
    x0 : point or list of points, optional
        Legal points to begin with; they are evaluated and count in the budget, unless y0 has their values.
    y0 : number or list of numbers, optional
        Values of x0 that are known already: numbers, or `xstar.Value` with their noise. None or NaN is a failure. Of
        several outputs, dictionaries of these.
    n_jobs : int
        How many evaluations are under way at once. Then what is suggested next depends on which of them ends first.
    executor : concurrent.futures.Executor, optional
        Where they run; by default threads, which do for functions that wait, start a program, or compute outside of
        Python. For pure Python take a ProcessPoolExecutor, for a cluster the executor of Dask, MPI, ...
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
        If an option makes no sense, there is no reason to stop, or the function never returns anything.
    SpaceError
        If the space makes no sense.
    DataError
        If the function returns something else than described.

    Warns
    -----
    UserWarning
        If the function returns a pair, which is read as a value and its noise, or None; or if the file of the study
        cannot be written any more. Each is said once.
    DegradedWarning
        If a simpler method had to choose a point.

    Examples
    --------
    >>> import xstar
    >>> result = xstar.maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=8, method="logei")
    >>> round(float(result.x[0]), 2)
    0.3

    Several outputs, of which one is a constraint:

    >>> def f(x):
    ...     return {"yield": -((x[0] - 0.3) ** 2), "impurity": x[0]}
    >>> result = xstar.maximize(
    ...     f, [(0.0, 1.0)], 8, objectives={"yield": "maximize"}, constraints={"impurity": ("<=", 0.2)}, method="logei"
    ... )
    >>> 0.15 < result.params["x0"] < 0.2, result.recommendation.feasibility > 0.9
    (True, True)
    """
    return optimize(
        function, space, budget, direction="maximize", method=method, seed=seed, noise=noise, num_initial=num_initial,
        threads=threads, compute=compute, objectives=objectives, constraints=constraints, tolerance=tolerance,
        target=target, patience=patience, max_seconds=max_seconds, max_failures=max_failures, catch=catch,
        callback=callback, x0=x0, y0=y0, n_jobs=n_jobs, executor=executor, progress=progress, save=save,
        optimizer=optimizer,
    )  # fmt: skip


def minimize(
    function: Measurable,
    space: SpaceLike | None = None,
    budget: int | None = None,
    *,
    method: str | Method = "pes",
    seed: int | None = 0,
    noise: float | Mapping[str, float] | None = None,
    num_initial: int | None = None,
    threads: int | None = 1,
    compute: str = "numpy",
    objectives: Mapping[str, str | Objective] | None = None,
    constraints: Mapping[str, tuple[str, float] | Constraint] | None = None,
    tolerance: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    max_seconds: float | None = None,
    max_failures: int = 20,
    catch: Caught = (),
    callback: Callback | None = None,
    x0: Point | Sequence[Point] | None = None,
    y0: Any = None,
    n_jobs: int = 1,
    executor: Executor | None = None,
    progress: bool = True,
    save: str | Path | None = None,
    optimizer: Optimizer | None = None,
) -> Result:
    """Minimize an expensive, noisy function in few evaluations.

    Parameters
    ----------
    function : callable
        Takes a dictionary of parameters, or an array if the space is a list of bounds; returns a number, or an
        `xstar.Value` with the standard deviation of its noise. NaN, infinite values and None are failures. Of several
        outputs, it returns a dictionary of these by name; what is missing there is not known, and only if all are, the
        evaluation has failed.
    space : Space, dict of parameters, list of (low, high) pairs, or scipy.optimize.Bounds
        What may be varied; left out if an optimizer is given. What scikit-optimize and scipy.stats write is understood.
    budget : int, optional
        Number of new evaluations, failed ones included. It may be left out if there is another reason to stop.
    method : str or Method
        How points are chosen: "pes", "logei", "thompson", "mes", "random"; "pes-alone", "pes-nb", "pes-2014", "es",
        "ei", as papers have them; or a `Method` of your own.
    seed : int, optional
        A whole number; None draws one.
    noise : float or dict, optional
        The standard deviation of every value that is returned without one; 0 for a function without noise. By default
        it is learned. For several outputs, one for all or some by name.
    num_initial : int, optional
        How many evaluations fill the space before the model is asked; by default the number of parameters that vary
        plus one, from 3 to 10.
    threads : int, optional
        Of linear algebra; None leaves the machine's setting.
    compute : str
        Where the model is computed: "numpy", "torch:cuda" (or another device of torch), or "cupy".
    objectives : dict, optional
        For several outputs: what is to be maximized or minimized, by name; each a direction or an `Objective`. With
        several objectives, it does not matter which of the functions is called.
    constraints : dict, optional
        Outputs that are to stay within a bound, by name; each a pair such as ("<=", 0.5), or a `Constraint`. Without
        objectives, the one objective is called "value".
    tolerance : float, optional
        Stop when, with probability 95 %, no more than so much is left to gain; of several objectives, no more than
        this share of the hypervolume. With constraints, what is recommended must be feasible with that probability.
    target : float, optional
        Stop when a value as good as this was found; with noise, when the model says so too. Of one objective only.
    patience : int, optional
        Stop after so many evaluations in a row without a better value. Of one objective only.
    max_seconds : float, optional
        Stop after so much time; an evaluation that has begun is finished.
    max_failures : int
        Stop after so many failures in a row.
    catch : exception class or tuple of them
        Exceptions of the function that count as failures of the point. Others end the run and are raised again; their
        trial is withdrawn.
    callback : callable, optional
        Called with the optimizer and each trial told; the run stops when it returns True.
    x0 : point or list of points, optional
        Legal points to begin with; they are evaluated and count in the budget, unless y0 has their values.
    y0 : number or list of numbers, optional
        Values of x0 that are known already: numbers, or `xstar.Value` with their noise. None or NaN is a failure. Of
        several outputs, dictionaries of these.
    n_jobs : int
        How many evaluations are under way at once. Then what is suggested next depends on which of them ends first.
    executor : concurrent.futures.Executor, optional
        Where they run; by default threads, which do for functions that wait, start a program, or compute outside of
        Python. For pure Python take a ProcessPoolExecutor, for a cluster the executor of Dask, MPI, ...
    progress : bool
        Whether to show a progress bar on a terminal.
    save : str or Path, optional
        A file that is written after every evaluation, for `Optimizer.load`.
    optimizer : Optimizer, optional
        One to go on with, instead of a space; its own settings hold.

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
        threads=threads, compute=compute, objectives=objectives, constraints=constraints, tolerance=tolerance,
        target=target, patience=patience, max_seconds=max_seconds, max_failures=max_failures, catch=catch,
        callback=callback, x0=x0, y0=y0, n_jobs=n_jobs, executor=executor, progress=progress, save=save,
        optimizer=optimizer,
    )  # fmt: skip


def optimize(
    function: Measurable,
    space: SpaceLike | None = None,
    budget: int | None = None,
    *,
    direction: str | None = None,
    method: str | Method = "pes",
    seed: int | None = 0,
    noise: float | Mapping[str, float] | None = None,
    num_initial: int | None = None,
    threads: int | None = 1,
    compute: str = "numpy",
    objectives: Mapping[str, str | Objective] | None = None,
    constraints: Mapping[str, tuple[str, float] | Constraint] | None = None,
    tolerance: float | None = None,
    target: float | None = None,
    patience: int | None = None,
    max_seconds: float | None = None,
    max_failures: int = 20,
    catch: Caught = (),
    callback: Callback | None = None,
    x0: Point | Sequence[Point] | None = None,
    y0: Any = None,
    n_jobs: int = 1,
    executor: Executor | None = None,
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
    _check_function(function, catch)
    rules = Rules.check(budget, tolerance, target, patience, max_seconds, max_failures, callback)
    if optimizer is None:
        if space is None:
            raise SettingsError("a run needs a space, for example [(0.0, 1.0), (-5.0, 5.0)], or an optimizer.")
        optimizer = Optimizer(
            space, direction or "maximize", method, seed,
            noise=noise, num_initial=num_initial, threads=threads, compute=compute, objectives=objectives,
            constraints=constraints,
        )  # fmt: skip
    elif not isinstance(optimizer, Optimizer):
        raise SettingsError(f"optimizer must be an Optimizer; received {optimizer!r}.")
    elif space is not None:
        raise SettingsError("give a space or an optimizer, not both: an optimizer has its own space.")
    elif (method, seed, noise, num_initial, threads, compute) != ("pes", 0, None, None, 1, "numpy"):
        raise SettingsError(
            "method, seed, noise, num_initial, threads and compute are the optimizer's own; leave them out."
        )
    elif objectives is not None or constraints is not None:
        raise SettingsError("objectives and constraints are the optimizer's own; leave them out.")
    _check_direction(optimizer, direction, given=space is None)
    rules.check_goals(optimizer.goals)
    if executor is not None and not hasattr(cast("Any", executor), "submit"):
        raise SettingsError(f"executor must be one of concurrent.futures or like it; received {executor!r}.")
    evaluations = Evaluations(function, optimizer.space.positional, integer(n_jobs, "n_jobs", 1), executor)
    first = start_with(optimizer, x0, y0)
    loop = Loop(optimizer, evaluations, rules, catch, save, deque(first))
    with Bar(progress, budget) as bar:
        reason = loop.run(bar)
    return _result(optimizer, reason)


def _check_function(function: Any, catch: Any) -> None:
    if not callable(function):
        raise SettingsError(f"the function to optimize must be callable; received {function!r}.")
    if inspect.iscoroutinefunction(function):
        raise SettingsError("the function to optimize is asynchronous; use Optimizer.ask and tell around it.")
    if never_returns(function):
        raise SettingsError(
            f"the function to optimize never returns anything: {function!r} has no return statement with a value."
        )
    for kind in catch if isinstance(catch, tuple) else (catch,):
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise SettingsError(f"catch must be an exception class or a tuple of them; received {catch!r}.")


def _check_direction(optimizer: Optimizer, direction: str | None, given: bool) -> None:
    """Complain about a single objective that goes the other way; several go their own ways."""
    goals = optimizer.goals
    if direction in (None, optimizer.direction) or (goals is not None and goals.several):
        return
    if given or goals is None:
        raise SettingsError(f"the optimizer is one to {optimizer.direction}, not to {direction}.")
    raise SettingsError(
        f"the objective {goals.single!r} is to {optimizer.direction}, not to {direction}; call "
        f"xstar.{optimizer.direction}, or xstar.optimize, which goes by the objectives."
    )


def _result(optimizer: Optimizer, reason: StopReason) -> Result:
    """The result, with as much as can be had: what was told is not lost to a last computation that fails."""
    best: Recommendation | None = None
    tested: Recommendation | None = None
    where: OptimumPosterior | None = None
    front: ParetoFront | None = None
    several = optimizer.goals is not None and optimizer.goals.several
    try:
        if several:
            front = optimizer.pareto()
            where = optimizer.where()
        else:
            best = optimizer.recommend()
            where = optimizer.where()
            tested = optimizer.recommend(tested=True)
    except (TrialError, *NUMERICAL, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt):
            reason = "interrupted"
    return Result(best, tested, optimizer.best_observed, optimizer.trials, where, reason, optimizer, front)
