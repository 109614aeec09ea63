"""The posterior mean as a score: its maximizer is what is recommended."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xstar.acquisition.of_posterior import PosteriorScore
from xstar.gp.paths import Paths, mean_function
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, namespace
from xstar.numerics.ascent import Evaluation


@dataclass(frozen=True)
class MeanScore(PosteriorScore):
    """The posterior mean, averaged over hyperparameter samples; better by a sum when weighed."""

    post: Posterior
    additive = True

    @cached_property
    def _functions(self) -> Paths:
        return mean_function(self.post)

    def value(self, X: Array, /) -> Array:
        return namespace(X).mean(self.post.predict_mean(X[:, None, ...]), axis=1)

    def evaluate(self, X: Array, /) -> Evaluation:
        """With Hessians."""
        xp = namespace(X)
        H = int(self.post.batch_shape[1])
        spread = xp.broadcast_to(X[:, None, ...], (X.shape[0], H, *X.shape[1:]))
        return Evaluation(*(xp.mean(part, axis=1) for part in self._functions.derivatives(spread)))

    def take(self, problems: HostArray, /) -> MeanScore:
        return MeanScore(self.post.take(problems))
