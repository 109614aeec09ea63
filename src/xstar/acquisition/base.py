"""The contract of every acquisition: prepare once, then score any points.

    score = acquisition.prepare(post, rng)      # random and costly: everything that does not depend on x
    score(X)                                    # (n,)
    score.value_and_gradient(X)                 # (n,), (n, d)

A score is to be maximized, and is an `Objective` of `xstar.search`. The posterior may carry a leading axis of
hyperparameter samples, over which the score is averaged. `pending` are points whose values have been asked for and
are not known yet.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from xstar.entropy.maximizers import Region
from xstar.entropy.success import Success
from xstar.errors import SettingsError
from xstar.gp.observations import check_points
from xstar.gp.paths import Paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, in_chunks, move, namespace, zeros
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import generator, instance
from xstar.numerics.linalg import solve_cholesky
from xstar.search.domain import Domain, cube


class Acquisition(ABC):
    """A way to value the next evaluation."""

    def prepare(
        self,
        post: Posterior,
        rng: np.random.Generator,
        pending: Any = None,
        domain: Domain | None = None,
        success: Success | None = None,
    ) -> Score:
        """Everything that does not depend on x, for one data set and H >= 1 hyperparameter samples.

        `pending` (k, d) are points under way; `domain` says which points are legal (default: the whole cube) and
        `success` where evaluations are likely to succeed: the maximum that is looked for is there. (The score itself is
        not weighed by the chance of success: `Weighed` does that.)
        """
        instance(post, "post", Posterior, "Posterior(SquaredExponential(), hyper, X, y)")
        generator(rng)
        if pending is not None:
            pending = check_points(pending, "pending", like=post.data.X, dimension=post.dimension, table=True)
            pending = None if pending.shape[0] == 0 else pending
        domain = cube(post.dimension) if domain is None else domain
        if domain.dimension != post.dimension:
            raise SettingsError(f"domain has {domain.dimension} columns for {post.dimension} coordinates.")
        return self._prepare(post.joined(), rng, pending, Region(domain, success))

    @abstractmethod
    def _prepare(self, post: Posterior, rng: np.random.Generator, pending: Array | None, region: Region) -> Score:
        """The same for a posterior with exactly one leading axis, H."""


class Score(ABC):
    """An acquisition function, ready to be evaluated."""

    num_problems: int = 1
    additive: bool = False
    """Whether a factor of what an evaluation is worth is a summand of the score: it is a logarithm, or a value."""

    def __init__(self, like: Array, elements_per_point: int, diagnostics: Mapping[str, Any]) -> None:
        self._like = like
        self._elements = elements_per_point
        self.diagnostics = diagnostics

    @property
    def dimension(self) -> int:
        """d."""
        return int(self._like.shape[-1])

    def __call__(self, X: Any) -> Array:
        """Scores at points (n, d), shape (n,)."""
        (value,) = in_chunks(lambda x: (self._value(x),), self._points(X), self._elements, (0,))
        return value

    def value_and_gradient(self, X: Any) -> tuple[Array, Array]:
        """Scores (n,) and their gradients (n, d) at points (n, d)."""
        value, gradient = in_chunks(
            self._value_and_gradient, self._points(X), self._elements * (1 + self.dimension), (0, 0)
        )
        return value, gradient

    def screen(self, X: Any, /) -> Array:
        """Scores at points (n, d), shape (1, n)."""
        return self(X)[None, :]

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Scores at points (1, q, d), shape (1, q)."""
        return self(x[0, ...])[None, :]

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Scores and gradients at points (1, q, d)."""
        value, gradient = self.value_and_gradient(x[0, ...])
        return Evaluation(value[None, ...], gradient[None, ...])

    def _points(self, X: Any) -> Array:
        return check_points(X, "X", like=self._like, dimension=self.dimension, table=True)

    @abstractmethod
    def _value(self, X: Array) -> Array:
        """Scores at checked points."""

    @abstractmethod
    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        """Scores and gradients at checked points."""


def share_out(num_samples: int, post: Posterior) -> int:
    """How many paths each hyperparameter sample gets, so that together they are at least `num_samples`."""
    return math.ceil(num_samples / int(post.batch_shape[0]))


def condition_on_pending(
    post: Posterior, paths: Paths, pending: Array | None, rng: np.random.Generator
) -> tuple[Posterior, Array]:
    """The posterior with pending points as data, and K^{-1} of each path's targets, shape (H, 1 or S, n).

    A path's targets are the data and its own noisy values at the pending points. (The values in the returned
    posterior's data are not used by anyone.)
    """
    if pending is None:
        return post, post.alpha[:, None, :]
    xp = namespace(pending)
    values = paths(pending)
    noise = post.hyper.noise[:, None, None] * move(rng.standard_normal(tuple(values.shape)), values)
    longer = post.extend(pending, zeros((int(pending.shape[0]),), pending))
    data = xp.broadcast_to(post.data.y, (*values.shape[:-1], post.data.count))
    targets = xp.concat([data, values + noise], axis=-1)
    return longer, xp.linalg.matrix_transpose(solve_cholesky(longer.factor, xp.linalg.matrix_transpose(targets)))


def fantasize(post: Posterior, pending: Array | None) -> Posterior:
    """The posterior as if pending points had returned their own predicted mean: variances shrink, means stay."""
    if pending is None:
        return post
    return post.extend(pending, post.predict(pending)[0])
