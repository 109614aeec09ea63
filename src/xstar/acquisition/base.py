"""The contract of every acquisition: prepare once, then score any points.

    score = acquisition.prepare(post, rng)      # random and costly: everything that does not depend on x
    score(X)                                    # (n,)
    score.value_and_gradient(X)                 # (n,), (n, d)

A score is to be maximized, and is an `Objective` of `xstar.search`. The posterior may carry a leading axis of
hyperparameter samples, over which the score is averaged. `pending` are points whose values have been asked for and
are not known yet.

Several problems are prepared at once from a posterior with leading axes (R, H) and data (R, 1, n, d); the score is then
R functions, with points (R, n, d) and values (R, n).

Notation
    R    problems, each with its own data; 1 unless told otherwise
    H    hyperparameter samples of each
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from xstar.entropy.maximizers import Region
from xstar.entropy.success import Success
from xstar.errors import DataError, SettingsError
from xstar.gp.observations import check_points
from xstar.gp.paths import Paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, in_chunks, move, namespace, zeros
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import generator, instance
from xstar.numerics.linalg import solve_cholesky
from xstar.numerics.streams import Random, Streams
from xstar.search.domain import Domain, cube


class Acquisition(ABC):
    """A way to value the next evaluation."""

    def prepare(
        self,
        post: Posterior,
        rng: Random,
        pending: Any = None,
        domain: Domain | None = None,
        success: Success | None = None,
    ) -> Score:
        """Everything that does not depend on x, for H >= 1 hyperparameter samples.

        `pending` (k, d) are points under way; `domain` says which points are legal (default: the whole cube) and
        `success` where evaluations are likely to succeed: the maximum that is looked for is there. (The score itself is
        not weighed by the chance of success: `Weighed` does that.)
        """
        instance(post, "post", Posterior, "Posterior(SquaredExponential(), hyper, X, y)")
        generator(rng, several=True)
        if pending is not None:
            pending = check_points(pending, "pending", like=post.data.X, dimension=post.dimension, table=True)
            pending = None if pending.shape[0] == 0 else pending
        domain = cube(post.dimension) if domain is None else domain
        if domain.dimension != post.dimension:
            raise SettingsError(f"domain has {domain.dimension} columns for {post.dimension} coordinates.")
        post = post.by_problem()
        R = post.batch_shape[0]
        if isinstance(rng, Streams) and len(rng) != R:
            raise SettingsError(f"rng must have one generator for each of {R} problems; received {len(rng)}.")
        if R > 1 and (pending is not None or success is not None):
            raise SettingsError("pending points and a chance of success are for one problem at a time.")
        return self._prepare(post, rng, pending, Region(domain, success))

    @abstractmethod
    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        """The same for a posterior with leading axes (R, H), as `Posterior.by_problem` has it."""


class Score(ABC):
    """An acquisition function, ready to be evaluated; or R of them."""

    additive: bool = False
    """Whether a factor of what an evaluation is worth is a summand of the score: it is a logarithm, or a value."""

    def __init__(self, like: Array, num_problems: int, elements_per_point: int, diagnostics: Mapping[str, Any]) -> None:
        self._like = like
        self.num_problems = num_problems
        self._elements = elements_per_point
        self.diagnostics = diagnostics
        self._latest: tuple[bytes, Score] | None = None

    @property
    def dimension(self) -> int:
        """d."""
        return int(self._like.shape[-1])

    def __call__(self, X: Any) -> Array:
        """Scores at points (n, d), shape (n,); of several problems (R, n)."""
        (value,) = in_chunks(lambda x: (self._value(x),), self._points(X), self._elements, (1,))
        return self._alone(value)

    def value_and_gradient(self, X: Any) -> tuple[Array, Array]:
        """Scores (n,) and their gradients (n, d) at points (n, d); of several problems (R, n) and (R, n, d)."""
        value, gradient = self._slopes(self._points(X))
        return self._alone(value), self._alone(gradient)

    def screen(self, X: Any, /) -> Array:
        """Scores at points (n, d) or (R, n, d), good enough to rank them; shape (R, n)."""
        points = self._points(X, grouped=True)
        (value,) = in_chunks(lambda x: (self._screen(x),), points, self._elements, (1,))
        return value

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Scores of some problems (R',) at their own points (R', q, d), shape (R', q)."""
        some = self._some(problems)
        (value,) = in_chunks(lambda x: (some._value(x),), x, self._elements, (1,))
        return value

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Scores and gradients of some problems (R',) at their own points (R', q, d)."""
        return Evaluation(*self._some(problems)._slopes(x))

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        """The same: a score has no cheaper form of its slopes."""
        return self.evaluate(x, problems)

    def _slopes(self, x: Array) -> tuple[Array, Array]:
        value, gradient = in_chunks(self._value_and_gradient, x, self._elements * (1 + self.dimension), (1, 1))
        return value, gradient

    def _points(self, X: Any, *, grouped: bool = False) -> Array:
        """Checked points, shape (R, n, d); one problem has plain rows (n, d), unless they are `grouped`."""
        table = self.num_problems == 1 and not grouped
        points = check_points(X, "X", like=self._like, dimension=self.dimension, table=table)
        if points.ndim > 3 or (points.ndim == 3 and points.shape[0] != self.num_problems):
            raise DataError(f"X must have shape (n, d) or ({self.num_problems}, n, d); received {tuple(points.shape)}.")
        return namespace(points).broadcast_to(points, (self.num_problems, *points.shape[-2:]))

    def _alone(self, values: Array) -> Array:
        return values[0, ...] if self.num_problems == 1 else values

    def _some(self, problems: HostArray) -> Score:
        """The score of some problems; the latest choice is kept, because a search asks for the same again."""
        if np.array_equal(problems, np.arange(self.num_problems)):
            return self
        key = problems.tobytes()
        if self._latest is None or self._latest[0] != key:
            self._latest = (key, self._take(problems))
        return self._latest[1]

    def _take(self, problems: HostArray) -> Score:
        raise NotImplementedError(f"{type(self).__name__} is for one problem at a time.")

    def _screen(self, X: Array) -> Array:
        """As `_value`, maybe roughly."""
        return self._value(X)

    @abstractmethod
    def _value(self, X: Array) -> Array:
        """Scores (R, m) at checked points (R, m, d)."""

    @abstractmethod
    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Scores (R, m) and gradients (R, m, d) at checked points (R, m, d)."""


def share_out(num_samples: int, post: Posterior) -> int:
    """How many paths each hyperparameter sample gets, so that together they are at least `num_samples`."""
    return math.ceil(num_samples / int(post.batch_shape[1]))


def condition_on_pending(post: Posterior, paths: Paths, pending: Array | None, rng: Random) -> tuple[Posterior, Array]:
    """The posterior with pending points (k, d) as data, and K^{-1} of each path's targets, shape (R, H, 1 or S, n).

    A path's targets are the data and its own noisy values at the pending points. (The values in the returned
    posterior's data are not used by anyone.)
    """
    if pending is None:
        return post, post.alpha[:, :, None, :]
    xp = namespace(pending)
    values = paths(pending)
    noise = post.hyper.noise[..., None, None] * move(rng.standard_normal(tuple(values.shape)), values)
    longer = post.extend(pending[None, None, ...], zeros((1, 1, int(pending.shape[0])), pending))
    data = xp.broadcast_to(post.data.y[:, :, None, :], (*values.shape[:-1], post.data.count))
    targets = xp.concat([data, values + noise], axis=-1)
    return longer, xp.linalg.matrix_transpose(solve_cholesky(longer.factor, xp.linalg.matrix_transpose(targets)))


def fantasize(post: Posterior, pending: Array | None) -> Posterior:
    """The posterior as if pending points (k, d) had returned their own predicted mean: variances shrink, means stay."""
    if pending is None:
        return post
    return post.extend(pending[None, None, ...], post.predict(pending)[0])
