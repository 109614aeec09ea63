"""Many independent optimizations on the unit cube, advanced in lockstep.

R functions, each with its own data, noise and random numbers, take every step together: arrays carry a leading axis R,
so that a GPU has enough to do. Problem r draws its random numbers from a generator of its own; common to all are the
design of the search's candidates and, where hyperparameters are sampled, the draws of that.

    method = Method(SquaredExponential(), Fixed(hyper), PES(64))
    study = Study(values, noise=1e-3, method=method)
    record = run(study, start, evaluations=50, seeds=range(1000), compute="torch:cuda")

As in `Optimizer`, values are standardized unless hyperparameters are known, and each problem has the kernel under which
its data are most probable: problems with the same one form a group. There are no failures, no pending points and no
simpler rungs here, and all of the cube is legal.

Notation
    R    problems          n    evaluations so far          d    coordinates
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from xstar.acquisition.mean import MeanScore
from xstar.entropy.maximizers import best_of_each
from xstar.gp import Fixed, Posterior
from xstar.gp.inference import infer_each_under_best
from xstar.methods import Method
from xstar.model import design_weights
from xstar.numerics.arrays import Array, HostArray, move, namespace, take_rows, to_numpy
from xstar.numerics.checks import place
from xstar.numerics.streams import Streams
from xstar.scaling import Scaling
from xstar.search import BoxSearch, Objective, draw_grouped

CANDIDATES = 1024
"""Points of the design among which a search for the best score begins."""
SAMPLED_MAXIMA = 6
"""Sampled maxima that it also begins from."""
MOST_ITERATIONS, TOLERANCE = 20, 1e-5
"""Of a climb: all problems wait for the slowest."""
DESIGN = 0xDE5167
"""The seed of what all problems share: where hyperparameters are known, a problem takes the same course alone."""


@dataclass(frozen=True)
class Study:
    """What is optimized, and the model of it."""

    values: Callable[[HostArray], HostArray]
    """From points (R, m, d) to the R functions' values (R, m), without noise, on the host."""
    noise: float
    """Standard deviation that is added to them."""
    method: Method = field(default_factory=Method)


class Record(NamedTuple):
    """What was evaluated and what was recommended."""

    X: HostArray
    """Shape (R, n, d)."""
    y: HostArray
    """Shape (R, n)."""
    recommended: HostArray
    """The maximizer of the posterior mean at the start and after each evaluation, shape (R, evaluations + 1, d)."""
    value: HostArray
    """The function there, without noise, shape (R, evaluations + 1)."""


class Group(NamedTuple):
    """Problems with the same kernel."""

    problems: HostArray
    """Their numbers, increasing."""
    post: Posterior
    """Of all of them, leading axes (R', H)."""


def run(
    study: Study,
    start: HostArray,
    evaluations: int,
    seeds: Sequence[int],
    *,
    compute: str = "numpy",
    draws: HostArray | None = None,
    threads: int = 1,
    after: Callable[[int], None] | None = None,
) -> Record:
    """Optimize R functions from their starts (R, n, d), one seed each.

    `compute` is where, as for `Optimizer`; `threads` draw random numbers. The noise is `draws` (R, n + evaluations), in
    units of its standard deviation, or drawn by the seeds. `after` is called with the number of evaluations after each
    of them.
    """
    R, n, d = start.shape
    if draws is None:
        draws = np.stack([np.random.default_rng([seed, 2]).standard_normal(n + evaluations) for seed in seeds])
    own = [np.random.default_rng([seed, 1]) for seed in seeds]
    streams = Streams(own, np.random.default_rng(DESIGN), threads)

    like = place(compute)

    def observe(x: HostArray, first: int) -> Array:
        return move(study.values(x) + study.noise * draws[:, first : first + x.shape[1]], like)

    X = np.asarray(start, dtype=np.float64)
    X, y = move(X, like), observe(X, 0)
    groups = _fit(study, X, y, streams)
    recommended, heights = [], []
    for step in range(evaluations + 1):
        best = _of_all(groups, R, lambda group: search(MeanScore(group.post), group.post, streams))
        recommended.append(best)
        heights.append(study.values(best[:, None, :])[:, 0])
        if step == evaluations:
            break
        if study.method.acquisition is None:
            chosen = streams.uniform(0.0, 1.0, (R, d))
        else:
            chosen = _of_all(groups, R, lambda group: _suggest(study, group, streams))
        x = chosen[:, None, :]
        groups, X, y = _learn(study, groups, X, y, move(x, like), observe(x, n + step), streams)
        if after is not None:
            after(step + 1)
    return Record(to_numpy(X), to_numpy(y), np.stack(recommended, axis=1), np.stack(heights, axis=1))


def _of_all(groups: Sequence[Group], count: int, find: Callable[[Group], Array]) -> HostArray:
    """One row for each problem (R, d), from those of each group."""
    found = [to_numpy(find(group)) for group in groups]
    rows = np.empty((count, found[0].shape[-1]))
    for group, part in zip(groups, found, strict=True):
        rows[group.problems] = part
    return rows


def _suggest(study: Study, group: Group, streams: Streams) -> Array:
    assert study.method.acquisition is not None
    streams = streams.take(group.problems)
    score = study.method.acquisition.prepare(group.post, streams)
    return search(score, group.post, streams, getattr(score, "maximizers", None))


def _learn(
    study: Study, groups: list[Group], X: Array, y: Array, x: Array, new: Array, streams: Streams
) -> tuple[list[Group], Array, Array]:
    """The groups and all data after new points (R, k, d): the factor is extended where hyperparameters are known."""
    xp = namespace(X)
    X, y = xp.concat([X, x], axis=1), xp.concat([y, new], axis=1)
    if isinstance(study.method.inference, Fixed):
        return [group._replace(post=group.post.extend(x[:, None, ...], new[:, None, :])) for group in groups], X, y
    return _fit(study, X, y, streams), X, y


def _fit(study: Study, X: Array, y: Array, streams: Streams) -> list[Group]:
    """The posteriors of data (R, n, d), (R, n)."""
    method = study.method
    if method.standardizes:
        y = move(np.stack([_standardized(*data) for data in zip(to_numpy(X), to_numpy(y), strict=True)]), X)
    groups = []
    for problems, kernel, inferred in infer_each_under_best(method.kernels, method.inference, X, y, streams.common):
        own_X, own_y = take_rows(X, problems), take_rows(y, problems)
        groups.append(Group(problems, Posterior(kernel, inferred.hyper, own_X[:, None, ...], own_y[:, None, :])))
    return groups


def _standardized(X: HostArray, values: HostArray) -> HostArray:
    return Scaling.fit(values, design_weights(X)).forward(values)


def search(score: Objective, post: Posterior, streams: Streams, maximizers: object = None) -> Array:
    """The best point of each problem's score (R, d)."""
    data = to_numpy(post.data.X)[:, 0]
    around = to_numpy(best_of_each(post)[0])
    sampled = getattr(maximizers, "x", None)
    if sampled is not None:
        sampled = to_numpy(sampled).reshape(len(data), -1, data.shape[-1])[:, :SAMPLED_MAXIMA]
        around = np.concatenate([around, sampled], axis=1)
    search = BoxSearch(max_iterations=MOST_ITERATIONS, tolerance=TOLERANCE)
    return search.maximize(score, *draw_grouped(CANDIDATES, data, streams.common, around=around)).x
