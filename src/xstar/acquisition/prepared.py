"""A score that can be called and searched: checks, blocks of bounded memory, subsets of problems, rough values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from xstar.errors import DataError
from xstar.gp.observations import check_points
from xstar.numerics.arrays import Array, HostArray, in_chunks, namespace
from xstar.numerics.ascent import Evaluation

if TYPE_CHECKING:
    from xstar.acquisition.base import Score


@dataclass(frozen=True)
class Prepared:
    """A prepared acquisition: a function of points, and an `Objective` of `xstar.search`.

    Parameters
    ----------
    score : Score
        What an acquisition has prepared.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import LogEI
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> score = LogEI().prepare(post, np.random.default_rng(0))
    >>> score([[0.75], [0.2]]).shape
    (2,)
    """

    score: Score

    @property
    def num_problems(self) -> int:
        """R."""
        return self.score.num_problems

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.score.like.shape[-1])

    @property
    def additive(self) -> bool:
        """Whether a factor of what an evaluation is worth is a summand of the score."""
        return self.score.additive

    @property
    def diagnostics(self) -> Mapping[str, Any]:
        """How the preparation went."""
        return self.score.diagnostics

    @property
    def starts(self) -> Array | None:
        """Points (R, k, d) near which a search for the best score should begin, if any are known."""
        return self.score.starts

    @property
    def sampled_maxima(self) -> Array | None:
        """The heights (R, N) of the sampled maxima that the score is about, if there are any."""
        return self.score.sampled_maxima

    def __call__(self, X: ArrayLike) -> Array:
        """Scores at points (n, d), shape (n,); of several problems (R, n)."""
        return self._alone(self._values(self.score, self._points(X)))

    def value_and_gradient(self, X: ArrayLike) -> tuple[Array, Array]:
        """Scores (n,) and their gradients (n, d) at points (n, d); of several problems (R, n) and (R, n, d)."""
        value, gradient, *_ = self._evaluations(self.score, self._points(X))
        return self._alone(value), self._alone(gradient)

    def screen(self, X: ArrayLike, /) -> Array:
        """Scores at points (n, d) or (R, n, d), good enough to rank them; shape (R, n)."""
        return self._values(self._rough.score, self._points(X, grouped=True))

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Scores of some problems (R',) at their own points (R', q, d), shape (R', q)."""
        return self._values(self._some(problems), x)

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Scores and derivatives of some problems (R',) at their own points (R', q, d)."""
        return self._evaluations(self._some(problems), x)

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        """The same, as cheaply as tells good hills from bad ones."""
        return self._rough.evaluate(x, problems)

    @cached_property
    def _rough(self) -> Prepared:
        cheaper = self.score.rough()
        return self if cheaper is self.score else Prepared(cheaper)

    @staticmethod
    def _values(score: Score, x: Array) -> Array:
        (value,) = in_chunks(lambda block: (score.value(block),), x, score.elements_per_point, (1,))
        return value

    def _evaluations(self, score: Score, x: Array) -> Evaluation:
        def known(block: Array) -> tuple[Array, ...]:
            value, gradient, hessian = score.evaluate(block)
            return (value, gradient) if hessian is None else (value, gradient, hessian)

        return Evaluation(*in_chunks(known, x, score.elements_per_point * (1 + self.dimension), (1, 1, 1)))

    def _points(self, X: ArrayLike, *, grouped: bool = False) -> Array:
        """Checked points, shape (R, n, d); one problem has plain rows (n, d), unless they are `grouped`."""
        table = self.num_problems == 1 and not grouped
        points = check_points(X, "X", like=self.score.like, dimension=self.dimension, table=table)
        if points.ndim > 3 or (points.ndim == 3 and points.shape[0] != self.num_problems):
            raise DataError(f"X must have shape (n, d) or ({self.num_problems}, n, d); received {tuple(points.shape)}.")
        return namespace(points).broadcast_to(points, (self.num_problems, *points.shape[-2:]))

    def _alone(self, values: Array) -> Array:
        return values[0, ...] if self.num_problems == 1 else values

    def _some(self, problems: HostArray) -> Score:
        """The score of some problems; the latest choice is kept, because a search asks for the same again."""
        if np.array_equal(problems, np.arange(self.num_problems)):
            return self.score
        key = problems.tobytes()
        if key not in self._latest:
            self._latest.clear()
            self._latest[key] = self.score.take(problems)
        return self._latest[key]

    @cached_property
    def _latest(self) -> dict[bytes, Score]:
        return {}
