"""The posterior mean as a score: its maximizer is what is recommended."""

from __future__ import annotations

from xstar.acquisition.base import Score
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, namespace


class MeanScore(Score):
    """The posterior mean, averaged over hyperparameter samples; better by a sum when weighed."""

    additive = True

    def __init__(self, post: Posterior) -> None:
        self.post = post.joined()
        super().__init__(post.data.X, self.post.batch_shape[0] * (2 + post.data.count), {})

    def _value(self, X: Array) -> Array:
        return namespace(X).mean(self.post.predict_mean(X), axis=0)

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        xp = namespace(X)
        mean, _, slope, _ = self.post.predict_gradient(X)
        return xp.mean(mean, axis=0), xp.mean(slope, axis=0)
