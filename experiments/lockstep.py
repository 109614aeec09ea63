"""Many independent optimizations on the unit cube, advanced in lockstep.

R functions, each with its own data, noise and random numbers, take every step together: arrays carry a leading axis R,
so that a GPU has enough to do. Problem r draws its random numbers from a generator of its own; common to all are the
design of the search's candidates and, where hyperparameters are sampled, the draws of that.

    study = Study(values, noise=1e-3, inference=Fixed(hyper))
    record = run(study, PES(64), start, evaluations=50, seeds=range(1000), like=torch.empty(0, device="cuda"))

Notation
    R    problems          n    evaluations so far          d    coordinates
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from xstar.acquisition import Acquisition
from xstar.acquisition.mean import MeanScore
from xstar.entropy.maximizers import best_of_each
from xstar.gp import Fixed, Inference, Kernel, Posterior, SquaredExponential
from xstar.numerics.arrays import Array, HostArray, move, to_numpy
from xstar.numerics.streams import Streams
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

    values: Callable[[Array], Array]
    """From points (R, m, d), beside the data, to the R functions' values (R, m), without noise."""
    noise: float
    """Standard deviation that is added to them."""
    inference: Inference
    """`Fixed` if hyperparameters are known; for others values should have a standard deviation of about one."""
    kernel: Kernel = field(default_factory=SquaredExponential)


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


def run(
    study: Study,
    acquisition: Acquisition | None,
    start: HostArray,
    evaluations: int,
    seeds: Sequence[int],
    *,
    like: Array,
    threads: int = 1,
    after: Callable[[int], None] | None = None,
) -> Record:
    """Optimize R functions from their starts (R, n, d), one seed each; without an acquisition, points are random.

    Arrays are computed beside `like`; `threads` draw random numbers. `after` is called with the number of evaluations
    after each of them.
    """
    R, _, d = start.shape
    own = [np.random.default_rng([seed, 1]) for seed in seeds]
    noise = Streams([np.random.default_rng([seed, 2]) for seed in seeds], np.random.default_rng(0))
    streams = Streams(own, np.random.default_rng(DESIGN), threads)

    def observe(x: Array) -> Array:
        return study.values(x) + study.noise * move(noise.standard_normal((R, int(x.shape[1]))), x)

    X = move(np.asarray(start, dtype=np.float64), like)
    post = _posterior(study, X, observe(X), streams, None)
    recommended, heights = [], []
    for step in range(evaluations + 1):
        best = search(MeanScore(post), post, streams)
        recommended.append(to_numpy(best))
        heights.append(to_numpy(study.values(best[:, None, :]))[:, 0])
        if step == evaluations:
            break
        if acquisition is None:
            x = move(streams.uniform(0.0, 1.0, (R, d)), like)
        else:
            score = acquisition.prepare(post, streams)
            x = search(score, post, streams, getattr(score, "maximizers", None))
        post = _posterior(study, x[:, None, :], observe(x[:, None, :]), streams, post)
        if after is not None:
            after(step + 1)
    X, y = (to_numpy(part)[:, 0] for part in (post.data.X, post.data.y))
    return Record(X, y, np.stack(recommended, axis=1), np.stack(heights, axis=1))


def _posterior(study: Study, x: Array, y: Array, streams: Streams, before: Posterior | None) -> Posterior:
    """The posterior (R, H) after new points (R, k, d): the factor is extended where hyperparameters are known."""
    x, y = x[:, None, ...], y[:, None, :]
    if before is None:
        return _infer(study, x, y, streams)
    if isinstance(study.inference, Fixed):
        return before.extend(x, y)
    data = before.data.join(type(before.data)(x, y, None))
    return _infer(study, data.X, data.y, streams)


def _infer(study: Study, X: Array, y: Array, streams: Streams) -> Posterior:
    """From data (R, 1, n, d) to the posterior; its hyperparameters have leading axes (R, H)."""
    inferred = study.inference.infer(study.kernel, X[:, 0, ...], y[:, 0, :], streams.common)
    return Posterior(study.kernel, inferred.hyper, X, y)


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
