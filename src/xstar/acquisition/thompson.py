"""Thompson sampling: the maximizer of a posterior draw.

The score is the draw itself; of several draws, their upper envelope, whose maximizer is that of the highest of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.acquisition.base import Acquisition, Score
from xstar.gp.paths import Paths, draw_paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import integer
from xstar.numerics.random import Random, permutations
from xstar.search.region import Region


@dataclass(frozen=True)
class Thompson(Acquisition):
    """Thompson sampling: the highest of some posterior paths, each of a hyperparameter sample drawn at random.

    Pending points do not matter.

    Parameters
    ----------
    num_samples : int
        Paths. More of them explore more: the maximum is that of the most optimistic draw.
    num_features : int
        Random features of a path.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import Thompson
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> Thompson().prepare(post, np.random.default_rng(0))([[0.1], [0.8]]).shape
    (2,)
    """

    num_samples: int = 1
    num_features: int = 512

    def __post_init__(self) -> None:
        integer(self.num_samples, "num_samples", 1)
        integer(self.num_features, "num_features", 1)

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        R, H = post.batch_shape
        paths = draw_paths(post, math.ceil(self.num_samples / H), rng, num_features=self.num_features)
        each = paths.num_problems // R
        picked = permutations(rng, each)[:, : self.num_samples] + each * np.arange(R)[:, None]
        return ThompsonScore(paths.take(picked.ravel()), int(R))


@dataclass(frozen=True)
class ThompsonScore(Score):
    """The highest of each problem's paths."""

    paths: Paths
    """Batch shape (R S,): the paths of a problem in a row."""
    count: int
    """R."""
    additive = True

    @property
    def like(self) -> Array:
        return self.paths.hyper.lengthscales

    @property
    def num_problems(self) -> int:
        return self.count

    @property
    def elements_per_point(self) -> int:
        """The paths divide their work into blocks themselves."""
        return 1

    @property
    def diagnostics(self) -> Mapping[str, Any]:
        return {"samples": self.paths.num_problems}

    def rough(self) -> ThompsonScore:
        """Return the score with rounded cosines."""
        return ThompsonScore(self.paths.single, self.num_problems)

    def take(self, problems: HostArray, /) -> ThompsonScore:
        each = self.paths.num_problems // self.num_problems
        rows = (problems[:, None] * each + np.arange(each)).ravel()
        return ThompsonScore(self.paths.take(rows), len(problems))

    def value(self, X: Array, /) -> Array:
        return namespace(X).max(self._by_problem(self.paths(self._for_each_path(X))), axis=1)

    def evaluate(self, X: Array, /) -> Evaluation:
        """Return scores, gradients and Hessians, those of the path that is highest."""
        xp = namespace(X)
        everything = np.arange(self.paths.num_problems)
        parts = [self._by_problem(part) for part in self.paths.evaluate(self._for_each_path(X), everything)]
        if parts[0].shape[1] == 1:
            return Evaluation(*(part[:, 0, ...] for part in parts))
        rows = move(np.arange(parts[0].shape[1]), X)
        highest = xp.astype(rows[:, None] == xp.argmax(parts[0], axis=1)[:, None, :], X.dtype)
        return Evaluation(*(xp.sum(xp.reshape(highest, (*highest.shape, *([1] * (part.ndim - 3)))) * part, axis=1)
                            for part in parts))  # fmt: skip

    def _for_each_path(self, X: Array) -> Array:
        """Points (R, m, d) as (R S, m, d)."""
        xp = namespace(X)
        R, m, d = X.shape
        each = self.paths.num_problems // R
        return xp.reshape(xp.broadcast_to(X[:, None, ...], (R, each, m, d)), (R * each, m, d))

    def _by_problem(self, part: Array) -> Array:
        """(R S, ...) as (R, S, ...)."""
        each = self.paths.num_problems // self.count
        return namespace(part).reshape(part, (self.count, each, *part.shape[1:]))
