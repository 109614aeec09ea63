"""The posterior mean as a score: its maximizer is what is recommended."""

from __future__ import annotations

from xstar.acquisition.base import Score
from xstar.gp.paths import Paths, mean_function
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, namespace
from xstar.numerics.ascent import Evaluation


class MeanScore(Score):
    """The posterior mean, averaged over hyperparameter samples; better by a sum when weighed."""

    additive = True

    def __init__(self, post: Posterior) -> None:
        self.post = post.by_problem()
        self._functions: Paths = mean_function(self.post)
        R, H = self.post.batch_shape
        super().__init__(post.data.X, R, R * H * (2 + post.data.count), {})

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Value, gradient and Hessian of some problems (R',) at their own points (R', q, d)."""
        some = self._some(problems)
        assert isinstance(some, MeanScore)
        return some._derivatives(x)

    def _derivatives(self, X: Array) -> Evaluation:
        xp = namespace(X)
        H = int(self.post.batch_shape[1])
        spread = xp.broadcast_to(X[:, None, ...], (X.shape[0], H, *X.shape[1:]))
        return Evaluation(*(xp.mean(part, axis=1) for part in self._functions.derivatives(spread)))

    def _value(self, X: Array) -> Array:
        return namespace(X).mean(self.post.predict_mean(X[:, None, ...]), axis=1)

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        value, gradient, _ = self._derivatives(X)
        return value, gradient

    def _take(self, problems: HostArray) -> MeanScore:
        return MeanScore(self.post.take(problems))
