"""What scores have in common that are functions of the predictions of a posterior."""

from __future__ import annotations

from typing import Protocol

from xstar.acquisition.base import Score
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, namespace

LEAST_SD = 1e-10
"""The predicted standard deviation is not taken below this share of the amplitude."""


class PosteriorScore(Score, Protocol):
    """A score of predictions, averaged over hyperparameter samples."""

    post: Posterior
    """Leading axes (R, H), as `Posterior.by_problem` has them."""

    @property
    def like(self) -> Array:
        return self.post.data.X

    @property
    def num_problems(self) -> int:
        return int(self.post.batch_shape[0])

    @property
    def elements_per_point(self) -> int:
        R, H = self.post.batch_shape
        return int(R * H * (2 + self.post.data.count))

    def sd(self, variance: Array) -> Array:
        """Return standard deviations (R, H, m) that one may divide by."""
        xp = namespace(variance)
        return xp.sqrt(xp.maximum(variance, (LEAST_SD * self.post.hyper.amplitude[..., None]) ** 2))
