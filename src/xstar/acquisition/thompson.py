"""Thompson sampling: the maximizer of a posterior draw.

The score is the draw itself. With several samples each is an objective of its own for `xstar.search`, which then
returns a batch of points, one for each; called as a function, the score is their upper envelope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.acquisition.base import Acquisition, Score
from xstar.entropy.maximizers import Region
from xstar.gp.paths import Paths, draw_paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import integer


@dataclass(frozen=True)
class Thompson(Acquisition):
    """`num_samples` posterior paths, each of a hyperparameter sample drawn at random. Pending points do not matter."""

    num_samples: int = 1
    num_features: int = 512

    def __post_init__(self) -> None:
        integer(self.num_samples, "num_samples", 1)
        integer(self.num_features, "num_features", 1)

    def _prepare(self, post: Posterior, rng: np.random.Generator, pending: Array | None, region: Region) -> Score:
        H = post.batch_shape[0]
        paths = draw_paths(post, math.ceil(self.num_samples / H), rng, num_features=self.num_features)
        return ThompsonScore(paths.take(rng.permutation(paths.num_problems)[: self.num_samples]))


class ThompsonScore(Score):
    """Sample paths as scores."""

    additive = True

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.num_problems = paths.num_problems
        super().__init__(paths.hyper.lengthscales, 1, {"samples": paths.num_problems})

    def screen(self, X: Any, /) -> Array:
        """Each path at points (n, d), shape (samples, n)."""
        return self.paths.screen(X)

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Values of the given paths at their own points."""
        return self.paths.value(x, problems)

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Value, gradient and Hessian of the given paths at their own points."""
        return self.paths.evaluate(x, problems)

    def _value(self, X: Array) -> Array:
        return namespace(X).max(self.paths(X), axis=0)

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        xp = namespace(X)
        value, gradient, _ = self.paths.derivatives(X)
        highest = xp.max(value, axis=0)
        first = xp.argmax(value, axis=0)
        rows = move(np.arange(self.num_problems), value)
        chosen = xp.astype(rows[:, None] == first, gradient.dtype)
        return highest, xp.sum(chosen[..., None] * gradient, axis=0)
