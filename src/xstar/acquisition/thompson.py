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
from xstar.errors import SettingsError
from xstar.gp.paths import Paths, draw_paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import integer
from xstar.numerics.streams import Random, permutations


@dataclass(frozen=True)
class Thompson(Acquisition):
    """`num_samples` posterior paths, each of a hyperparameter sample drawn at random. Pending points do not matter."""

    num_samples: int = 1
    num_features: int = 512

    def __post_init__(self) -> None:
        integer(self.num_samples, "num_samples", 1)
        integer(self.num_features, "num_features", 1)

    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        R, H = post.batch_shape
        if R > 1 and self.num_samples > 1:
            raise SettingsError(f"several problems get one path each; received num_samples={self.num_samples}.")
        paths = draw_paths(post, math.ceil(self.num_samples / H), rng, num_features=self.num_features)
        each = paths.num_problems // R
        picked = permutations(rng, each)[:, : self.num_samples] + each * np.arange(R)[:, None]
        return ThompsonScore(paths.take(picked.ravel()), together=R == 1)


class ThompsonScore(Score):
    """Sample paths as scores."""

    additive = True

    def __init__(self, paths: Paths, *, together: bool = True) -> None:
        """`together`: whether all paths are of one problem, so that their envelope is its score."""
        self.paths, self.together = paths, together
        super().__init__(paths.hyper.lengthscales, paths.num_problems, 1, {"samples": paths.num_problems})

    def screen(self, X: Any, /) -> Array:
        """Each path at points (n, d), shape (samples, n)."""
        return self.paths.screen(X)

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Values of the given paths at their own points."""
        return self.paths.value(x, problems)

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Value, gradient and Hessian of the given paths at their own points."""
        return self.paths.evaluate(x, problems)

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        """The same with rounded cosines."""
        return self.paths.evaluate_roughly(x, problems)

    def __call__(self, X: Any) -> Array:
        """The highest of the paths at points (n, d), shape (n,); of several problems each one's path (R, n)."""
        if not self.together:
            return self.paths(X)
        return namespace(self.paths.weights).max(self.paths(X), axis=0)

    def value_and_gradient(self, X: Any) -> tuple[Array, Array]:
        """The highest of the paths and its gradient at points (n, d)."""
        value, gradient, _ = self.paths.derivatives(X)
        if not self.together:
            return value, gradient
        xp = namespace(value)
        rows = move(np.arange(self.num_problems), value)
        chosen = xp.astype(rows[:, None] == xp.argmax(value, axis=0), gradient.dtype)
        return xp.max(value, axis=0), xp.sum(chosen[..., None] * gradient, axis=0)

    def _value(self, X: Array) -> Array:
        return self.paths(X)

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        value, gradient, _ = self.paths.derivatives(X)
        return value, gradient
