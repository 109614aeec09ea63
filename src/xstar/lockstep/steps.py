"""Many independent optimizations on the unit cube, advanced in lockstep.

R functions, each with its own data, noise and random numbers, take every step together: arrays carry a leading axis R,
so that a GPU has enough to do. Problem r draws its random numbers from a generator of its own; common to all are the
design of the search's candidates and, where hyperparameters are sampled, the draws of that.

    method = Method(SquaredExponential(), Fixed(hyper), PES(64))
    problems = Problems(values, noise=1e-3, method=method)
    record = run(problems, start, evaluations=50, seeds=range(1000), compute="torch:cuda")

As in `Optimizer`, values are standardized unless hyperparameters are known, and each problem has the kernel under which
its data are most probable: problems with the same one form a group. There are no failures, no pending points and no
fallbacks here, and all of the cube is legal.

Notation
    R    problems          n    evaluations so far          d    coordinates
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from xstar.acquisition import Acquisition, LogEI, Prepared
from xstar.acquisition.mean import MeanScore
from xstar.engine.balance import FEW_OPTIMA, Outlook, confirms, is_turn_to_improve, is_worthwhile, may_improve
from xstar.engine.fit import design_weights
from xstar.engine.incumbents import recommend
from xstar.engine.scaling import Scaling
from xstar.entropy.maximizers import best_of_each, draw_maximizers
from xstar.errors import SettingsError
from xstar.gp import Fixed, Posterior
from xstar.gp.inference import infer_each_under_best
from xstar.gp.observations import Observations
from xstar.lockstep.streams import Streams
from xstar.methods import Method, ModelSettings
from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy
from xstar.numerics.checks import array_of, instance, integer, positive
from xstar.search import BoxSearch, SearchSettings, draw_grouped
from xstar.trial import check_sd

DESIGN = 0xDE5167
"""The seed of what all problems share: where hyperparameters are known, a problem takes the same course alone."""


@dataclass(frozen=True)
class LockstepSettings:
    """How every step searches (chosen by `python -m benchmarks.gpu`)."""

    num_candidates: int = 1024
    """Points of the design among which a search for the best score begins."""
    num_starts: int = 6
    """Points that a score names as promising and that it also begins from."""
    max_iterations: int = 20
    """Of a local search: all problems wait for the slowest."""
    tolerance: float = 1e-5
    search: SearchSettings = field(default_factory=SearchSettings)
    """Everything else about the search."""

    def __post_init__(self) -> None:
        for name in ("num_candidates", "num_starts", "max_iterations"):
            integer(getattr(self, name), name, 1)
        positive(self.tolerance, "tolerance")


@dataclass(frozen=True)
class Problems:
    """What is optimized, and the model of it.

    Parameters
    ----------
    values : callable
        From points (R, m, d) to the R functions' values (R, m), without noise, on the host.
    noise : float
        Standard deviation that is added to them.
    method : Method
        Any but Entropy Search.
    settings : LockstepSettings
        How every step searches.
    """

    values: Callable[[HostArray], HostArray]
    noise: float
    method: Method = field(default_factory=Method)
    settings: LockstepSettings = field(default_factory=LockstepSettings)

    def __post_init__(self) -> None:
        if not callable(self.values):
            raise SettingsError(f"values must be a function of points (R, m, d); received {self.values!r}.")
        check_sd(self.noise, "noise")
        instance(self.method, "method", Method, "Method()")
        instance(self.settings, "settings", LockstepSettings, "LockstepSettings()")


class Belief(NamedTuple):
    """What the models of R problems said after some evaluations, as `Optimizer.where` and `recommend` do."""

    evaluations: int
    """How many there were, those of the start included."""
    x_star: HostArray
    """Draws of the optimum, shape (R, N, d)."""
    left: HostArray
    """How much better each of them is than the recommendation, in the units of the values; shape (R, N)."""
    mean: HostArray
    """What is predicted at the recommendation, shape (R,)."""
    sd: HostArray
    """Its standard deviation, shape (R,)."""


class Record(NamedTuple):
    """What was evaluated and what was recommended."""

    X: HostArray
    """Shape (R, n, d)."""
    y: HostArray
    """Shape (R, n)."""
    recommended: HostArray
    """What is recommended at the start and after each evaluation, shape (R, evaluations + 1, d)."""
    value: HostArray
    """The function there, without noise, shape (R, evaluations + 1)."""
    tested: HostArray
    """The evaluated point with the largest posterior mean, likewise: shape (R, evaluations + 1, d)."""
    beliefs: tuple[Belief, ...] = ()
    """What the models said after the evaluations at which they were asked."""


class Group(NamedTuple):
    """Problems with the same kernel."""

    problems: HostArray
    """Their numbers, increasing."""
    post: Posterior
    """Of all of them, leading axes (R', H)."""
    scalings: Sequence[Scaling]
    """How the values of each are standardized."""


def run(
    problems: Problems,
    start: HostArray,
    evaluations: int,
    seeds: Sequence[int],
    *,
    compute: str = "numpy",
    draws: HostArray | None = None,
    threads: int = 1,
    after: Callable[[int], None] | None = None,
    ask_after: Sequence[int] = (),
    num_draws: int = 200,
) -> Record:
    """Optimize R functions, one evaluation of each at a time.

    Parameters
    ----------
    problems : Problems
        The functions, their noise and the method.
    start : ndarray of shape (R, n, d)
        Where each of them is evaluated first.
    evaluations : int
        How many follow.
    seeds : sequence of int of length R
        One for each problem.
    compute : str
        Where, as for `Optimizer`.
    draws : ndarray of shape (R, n + evaluations), optional
        The noise, in units of its standard deviation; by default it is drawn by the seeds.
    threads : int
        That draw random numbers.
    after : callable, optional
        Called with the number of evaluations after each of them.
    ask_after : sequence of int
        Numbers of evaluations, those of the start included, after which the models are asked what they believe; the
        course of the run does not depend on that.
    num_draws : int
        Of the optimum, whenever the models are asked.

    Returns
    -------
    Record
        What was evaluated and what was recommended.
    """
    R, n, d = start.shape
    if draws is None:
        draws = np.stack([np.random.default_rng([seed, 2]).standard_normal(n + evaluations) for seed in seeds])
    own = [np.random.default_rng([seed, 1]) for seed in seeds]
    streams = Streams(own, np.random.default_rng(DESIGN), threads)

    like = array_of(compute)

    def observe(x: HostArray, first: int) -> Array:
        return move(problems.values(x) + problems.noise * draws[:, first : first + x.shape[1]], like)

    X = np.asarray(start, dtype=np.float64)
    X, y = move(X, like), observe(X, 0)
    groups = _fit(problems, X, y, streams)
    recommended, heights, tested = [], [], []
    beliefs = []
    for step in range(evaluations + 1):
        best = _of_all(
            groups, R, lambda group: _maximize(problems.settings, Prepared(MeanScore(group.post)), group.post, streams)
        )
        tested.append(_of_all(groups, R, lambda group: best_of_each(group.post)[0][:, 0, :]))
        recommended.append(_of_all(groups, R, partial(_recommend, problems, X, y, tested[-1], best)))
        heights.append(problems.values(recommended[-1][:, None, :])[:, 0])
        if n + step in ask_after:
            beliefs.append(_ask(problems, groups, X, y, recommended[-1], seeds, num_draws))
        if step == evaluations:
            break
        if problems.method.acquisition is None:
            chosen = streams.uniform(0.0, 1.0, (R, d))
        else:
            chosen = _of_all(groups, R, partial(_suggest, problems, streams, best, n + step))
        x = chosen[:, None, :]
        groups, X, y = _learn(problems, groups, X, y, move(x, like), observe(x, n + step), streams)
        if after is not None:
            after(step + 1)
    best, height, safest = (np.stack(part, axis=1) for part in (recommended, heights, tested))
    return Record(to_numpy(X), to_numpy(y), best, height, safest, tuple(beliefs))


def _of_all(groups: Sequence[Group], count: int, find: Callable[[Group], Array]) -> HostArray:
    """One row for each problem (R, d), from those of each group."""
    found = [to_numpy(find(group)) for group in groups]
    rows = np.empty((count, found[0].shape[-1]))
    for group, part in zip(groups, found, strict=True):
        rows[group.problems] = part
    return rows


def _recommend(problems: Problems, X: Array, y: Array, tested: HostArray, best: HostArray, group: Group) -> HostArray:
    """The point to recommend for each problem of a group (R', d)."""
    own = group.problems
    values = to_numpy(y)[own]
    mean = to_numpy(group.post.predict_mean(group.post.data.X[:, :1, ...])).mean(axis=1)
    # Of several points with the best value, the one with the best mean.
    largest = np.where(values == values.max(axis=1, keepdims=True), mean, -np.inf)
    observed = to_numpy(X)[own, np.argmax(largest, axis=1)]
    return recommend(group.post, observed, tested[own], best[own], problems.method)


def _ask(
    problems: Problems, groups: Sequence[Group], X: Array, y: Array, recommended: HostArray, seeds: Sequence[int],
    num_draws: int,
) -> Belief:  # fmt: skip
    """What the models say of recommended points (R, d), and the models for claims of the optimum."""
    (R, d), n = recommended.shape, int(y.shape[1])
    streams, method = _streams_of_beliefs(seeds, n), problems.method
    found = Belief(n, np.empty((R, num_draws, d)), np.empty((R, num_draws)), np.empty(R), np.empty(R))
    found.mean[:], _ = _predict(groups, recommended)
    tempered = method.inference.tempered(method.model.claims_power)
    if tempered != method.inference:
        groups = _fit(replace(problems, method=replace(method, inference=tempered)), X, y, streams)
    center, sd = _predict(groups, recommended)
    found.sd[:] = np.hypot(sd, center - found.mean)
    for group in groups:
        own, (count, H) = group.problems, group.post.batch_shape
        drawn = draw_maximizers(group.post, math.ceil(num_draws / H), streams.take(own))
        here = move(np.broadcast_to(recommended[own, None, None, None, :], (*drawn.paths.batch_shape, 1, d)), X)
        best, at = (to_numpy(part).reshape(count, -1) for part in (drawn.value, drawn.paths(here)))
        x_star = to_numpy(drawn.x).reshape(count, -1, d)
        for k, r in enumerate(own):
            scaling, picked = group.scalings[k], streams.own[r].permutation(best.shape[1])[:num_draws]
            found.x_star[r] = x_star[k, picked]
            found.left[r] = np.maximum(scaling.inverse(best[k, picked]) - scaling.inverse(at[k, picked]), 0.0)
    return found


def _predict(groups: Sequence[Group], points: HostArray) -> tuple[HostArray, HostArray]:
    """Mean and standard deviation of the values at points (R, d), one of each problem; shapes (R,)."""
    found = np.empty((2, len(points)))
    for group in groups:
        rows = move(points[group.problems, None, None, :], group.post.data.X)
        mean, variance = (to_numpy(part)[..., 0] for part in group.post.predict(rows))
        center, sd = mean.mean(axis=1), np.sqrt(variance.mean(axis=1) + mean.var(axis=1))
        for k, r in enumerate(group.problems):
            found[0, r] = group.scalings[k].inverse(center[k])
            found[1, r] = group.scalings[k].spread(center[k], sd[k])
    return found[0], found[1]


def _streams_of_beliefs(seeds: Sequence[int], n: int) -> Streams:
    """Random numbers for questions alone."""
    own = [np.random.default_rng([seed, 3, n]) for seed in seeds]
    return Streams(own, np.random.default_rng([DESIGN, 3, n]))


def _suggest(problems: Problems, streams: Streams, best: HostArray, number: int, group: Group) -> Array:
    """The next point of each problem of a group (R', d); `best` (R, d) are the maximizers of the posterior mean."""
    own, balance = problems.method.acquisition, problems.method.balance
    assert own is not None
    streams = streams.take(group.problems)
    if balance is None or not own.samples_maxima:
        return _maximize(problems.settings, own.prepare(group.post, streams), group.post, streams)
    # What is common is so for each purpose, whichever problems take part: then a problem takes the same course alone.
    look, improve, explore = (streams.sharing(np.random.default_rng([DESIGN, number, k])) for k in range(3))
    rows = np.array(best[group.problems])
    improving = np.zeros(len(rows), dtype=bool)
    tested = _heights(group.post, to_numpy(best_of_each(group.post)[0])[:, 0])
    if is_turn_to_improve(balance, number):
        paths = math.ceil(FEW_OPTIMA / int(group.post.batch_shape[1]))
        optimum = to_numpy(draw_maximizers(group.post, paths, look).value).mean(axis=(1, 2))
        some = np.flatnonzero(may_improve(balance, tested, optimum, to_numpy(group.post.hyper.noise).mean(axis=1)))
        if len(some):
            found, score = _maximized(problems, LogEI(), group.post.take(some), improve.take(some))
            expected = np.exp(to_numpy(score.score.value(found[:, None, :])))[:, 0]
            worthwhile = is_worthwhile(balance, expected, tested[some], optimum[some])
            improving[some[worthwhile]] = True
            rows[some[worthwhile]] = to_numpy(found)[worthwhile]
    some = np.flatnonzero(~improving)
    if len(some):
        post = group.post.take(some)
        found, score = _maximized(problems, own, post, explore.take(some))
        assert score.sampled_maxima is not None, "of an acquisition that samples maxima"
        outlook = Outlook(tested[some], _heights(post, rows[some]), to_numpy(score.sampled_maxima).mean(axis=1))
        confirmed = confirms(balance, outlook)
        rows[some[~confirmed]] = to_numpy(found)[~confirmed]
    return move(rows, group.post.data.X)


def _maximized(
    problems: Problems, acquisition: Acquisition, post: Posterior, streams: Streams
) -> tuple[Array, Prepared]:
    """The best points of an acquisition (R, d), and its scores."""
    score = acquisition.prepare(post, streams)
    return _maximize(problems.settings, score, post, streams), score


def _heights(post: Posterior, rows: HostArray) -> HostArray:
    """The posterior means (R,) at points (R, d), one of each problem."""
    return to_numpy(MeanScore(post).value(move(rows[:, None, :], post.data.X)))[:, 0]


def _learn(
    problems: Problems, groups: list[Group], X: Array, y: Array, x: Array, new: Array, streams: Streams
) -> tuple[list[Group], Array, Array]:
    """The groups and all data after new points (R, k, d): the factor is extended where hyperparameters are known."""
    xp = namespace(X)
    X, y = xp.concat([X, x], axis=1), xp.concat([y, new], axis=1)
    if isinstance(problems.method.inference, Fixed):
        return [group._replace(post=group.post.extend(x[:, None, ...], new[:, None, :])) for group in groups], X, y
    return _fit(problems, X, y, streams), X, y


def _fit(problems: Problems, X: Array, y: Array, streams: Streams) -> list[Group]:
    """The posteriors of data (R, n, d), (R, n)."""
    method = problems.method
    if not method.standardizes:
        data, jacobian, scalings = Observations.check(X, y), None, [[Scaling()]] * len(X)
    else:
        versions, jacobian, scalings = _standardized(to_numpy(X), to_numpy(y), method.model)
        data = Observations.check(move(np.repeat(to_numpy(X), versions.shape[1], axis=0), X),
                                  move(versions.reshape(-1, versions.shape[-1]), X))  # fmt: skip
    count = 1 if jacobian is None else jacobian.shape[1]
    chosen = infer_each_under_best(
        method.kernels, method.inference, data, streams.common, log_jacobian=None if count == 1 else jacobian
    )
    return [
        Group(
            sets // count,
            Posterior.of(kernel, inferred.hyper, data.take(sets).expand()),
            [scalings[k // count][k % count] for k in sets],
        )
        for sets, kernel, inferred in chosen
    ]


def _standardized(
    X: HostArray, values: HostArray, settings: ModelSettings
) -> tuple[HostArray, HostArray, list[list[Scaling]]]:
    """The versions of y (R, V, n) that the data (R, n, d), (R, n) have, log derivatives, summed (R, V), and maps."""
    weights = [design_weights(points, settings) for points in X]
    scalings = [[Scaling.fit(*own, warp) for warp in settings.warps] for own in zip(values, weights, strict=True)]
    y = [[scaling.forward(own) for scaling in row] for own, row in zip(values, scalings, strict=True)]
    jacobian = [[scaling.log_jacobian(own) for scaling in row] for own, row in zip(values, scalings, strict=True)]
    return np.array(y), np.array(jacobian), scalings


def _maximize(settings: LockstepSettings, score: Prepared, post: Posterior, streams: Streams) -> Array:
    """The best point of each problem's score (R, d)."""
    data = to_numpy(post.data.X)[:, 0]
    around = to_numpy(best_of_each(post)[0])
    if score.starts is not None:
        around = np.concatenate([around, to_numpy(score.starts)[:, : settings.num_starts]], axis=1)
    search = BoxSearch(max_iterations=settings.max_iterations, tolerance=settings.tolerance, settings=settings.search)
    candidates = draw_grouped(settings.num_candidates, data, streams.common, around=around, settings=settings.search)
    return search.maximize(score, *candidates).x
