"""Expected improvement of several outputs: by how much a feasible point is expected to raise the front, in logarithms.

What a front does not dominate above a reference are disjoint cells [l, u] (`numerics.pareto`). The outputs are
independent, so with psi(t) = E max(f - t, 0) the expected hypervolume improvement is

    sum over cells of  prod_j (psi_j(l_j) - psi_j(u_j))  times  prod_k P(c_k >= b_k),

for one objective expected improvement over the best feasible mean. As logarithms it neither underflows nor is flat far
from the front [AEDBB23] Ament et al., "Unexpected improvements to expected improvement", 2023; [YEDB19] Yang et al.,
"Efficient computation of expected hypervolume improvement", 2019. Until something is likely to be feasible, it is the
logarithm of the probability that all constraints hold.

Notation
    H    hyperparameter samples          J, C    objectives, constraints
    m    points                          c       cells
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from xstar.acquisition.base import Score, fantasize
from xstar.acquisition.prepared import Prepared
from xstar.entropy.optima import LEAST_SD
from xstar.gp.observations import check_points
from xstar.gp.outputs import Outputs
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, zeros
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import instance
from xstar.numerics.normal import log_ndtr, truncated_moments
from xstar.numerics.pareto import Cells, cells

MOST_CELLS = 400
"""More objectives make more cells; a front is thinned until there are no more than these."""
LEAST_GAP = 1e-14
"""Of the logarithms of psi at the two ends of a cell: closer ones are told apart by rounding only."""


@dataclass(frozen=True)
class JointLogEI:
    """The logarithm of the expected hypervolume improvement times the probability of feasibility.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.acquisition import JointLogEI
    >>> from xstar.gp import Hyperparameters, Outputs, Posterior, SquaredExponential
    >>> hyper, X = Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]]
    >>> value, purity = (Posterior(SquaredExponential(), hyper, X, y) for y in ([0.0, 1.0], [0.5, -0.5]))
    >>> score = JointLogEI().prepare(Outputs((value,), (purity,), (0.0,)), np.array([[0.0]]), np.array([-1.0]))
    >>> bool(score([[0.45]]) > score([[0.95]]))
    True
    """

    def prepare(
        self, outputs: Outputs, front: HostArray, reference: HostArray, pending: ArrayLike | None = None
    ) -> Prepared:
        """Compute everything that does not depend on x.

        Parameters
        ----------
        outputs : Outputs
            The posteriors.
        front : array of shape (n, J)
            Values of the objectives at feasible points that are to be improved on; without any, feasibility is looked
            for first.
        reference : array of shape (J,)
            Above which the front's hypervolume is measured.
        pending : array_like of shape (k, d), optional
            Points whose values have been asked for and are not known yet: variances count on them.

        Returns
        -------
        Prepared
            The score.
        """
        instance(outputs, "outputs", Outputs, "Outputs((post,), (other,), (0.0,))")
        like = outputs.objectives[0].data.X
        under_way = None
        if pending is not None:
            under_way = check_points(pending, "pending", like=like, dimension=outputs.dimension, table=True)
        seek = len(front) == 0 and len(outputs.constraints) > 0
        parts = None if seek else _few_cells(np.asarray(front, dtype=np.float64), reference)
        posts = tuple(fantasize(post, under_way) for post in outputs.posteriors)
        J = len(outputs.objectives)
        return Prepared(JointImprovementScore(posts[:J], posts[J:], outputs.bounds, parts))


def _few_cells(front: HostArray, reference: HostArray) -> Cells:
    while len((found := cells(front, reference)).lower) > MOST_CELLS and len(front) > 2:
        front = front[np.argsort(front[:, 0], kind="stable")][::2]
    return found


@dataclass(frozen=True)
class JointImprovementScore(Score):
    """Averaged over hyperparameter samples."""

    objectives: tuple[Posterior, ...]
    constraints: tuple[Posterior, ...]
    bounds: tuple[float, ...]
    cells: Cells | None
    """None while feasibility is looked for."""
    additive = True

    @property
    def like(self) -> Array:
        return self.objectives[0].data.X

    @property
    def num_problems(self) -> int:
        return 1

    @property
    def num_hyper(self) -> int:
        """H."""
        return int(self.objectives[0].batch_shape[1])

    @property
    def elements_per_point(self) -> int:
        some = 0 if self.cells is None else 8 * self.cells.lower.size
        return self.num_hyper * (some + len(self.objectives + self.constraints) * (2 + self.objectives[0].data.count))

    def take(self, problems: HostArray, /) -> JointImprovementScore:
        return self

    def value(self, X: Array, /) -> Array:
        points = X[:, None, ...]
        total = zeros((1, self.num_hyper, X.shape[1]), X)
        for post, bound in zip(self.constraints, self.bounds, strict=True):
            mean, sd = _standard(post, *post.predict(points))
            total = total + log_ndtr((mean - bound) / sd)
        if self.cells is not None:
            moments = [_standard(post, *post.predict(points)) for post in self.objectives]
            total = total + _log_sum([part.value for part in self._shares(moments)])[0]
        return _log_mean(total)[0]

    def evaluate(self, X: Array, /) -> Evaluation:
        xp, points = namespace(X), X[:, None, ...]
        total = zeros((1, self.num_hyper, X.shape[1]), X)
        slope = zeros((*total.shape, X.shape[-1]), X)
        for post, bound in zip(self.constraints, self.bounds, strict=True):
            mean, sd, by_mean, by_sd = _with_slopes(post, points)
            z = (mean - bound) / sd
            total = total + log_ndtr(z)
            steep = truncated_moments(z).mean / sd
            slope = slope + steep[..., None] * (by_mean - z[..., None] * by_sd)
        if self.cells is not None:
            predicted = [_with_slopes(post, points) for post in self.objectives]
            found = self._shares([(mean, sd) for mean, sd, _, _ in predicted])
            improvement, share = _log_sum([part.value for part in found])
            total = total + improvement
            for part, (_, _, by_mean, by_sd) in zip(found, predicted, strict=True):
                slope = slope + xp.sum(share * part.by_mean, axis=-1)[..., None] * by_mean
                slope = slope + xp.sum(share * part.by_sd, axis=-1)[..., None] * by_sd
        value, weight = _log_mean(total)
        return Evaluation(value, xp.sum(weight[..., None] * slope, axis=1))

    def _shares(self, moments: list[tuple[Array, Array]]) -> list[_Share]:
        """For each objective, log (psi(l) - psi(u)) of every cell with derivatives, shape (1, H, m, c)."""
        assert self.cells is not None, "otherwise there is nothing to improve on"
        lower, upper = (move(side, self.like) for side in self.cells)
        return [
            _between(mean[..., None], sd[..., None], lower[:, j], upper[:, j]) for j, (mean, sd) in enumerate(moments)
        ]


class _Share(NamedTuple):
    value: Array
    by_mean: Array
    by_sd: Array


def _between(mean: Array, sd: Array, lower: Array, upper: Array) -> _Share:
    """log (psi(l) - psi(u)) and its derivatives."""
    xp = namespace(mean)
    first = _log_psi(mean, sd, lower)
    ends = xp.isfinite(upper)
    second = _log_psi(mean, sd, xp.where(ends, upper, lower))
    # Of psi(l), this much remains: 1 where the cell has no end.
    gap = xp.where(ends, second.value - first.value, -xp.inf)
    rest = xp.exp(xp.minimum(gap, -LEAST_GAP))
    kept = -xp.expm1(xp.minimum(gap, -LEAST_GAP))
    return _Share(
        first.value + xp.log(kept),
        (first.by_mean - rest * second.by_mean) / kept,
        (first.by_sd - rest * second.by_sd) / kept,
    )


def _log_psi(mean: Array, sd: Array, level: Array) -> _Share:
    """log E max(f - level, 0) with its derivatives: Phi / psi and phi / psi."""
    xp = namespace(mean)
    z = (mean - xp.where(xp.isfinite(level), level, mean)) / sd
    moments = truncated_moments(xp.clip(z, min=-1e8, max=1e8))
    steep = 1.0 / (sd * moments.excess)
    return _Share(xp.log(sd) + log_ndtr(z) + xp.log(moments.excess), steep, moments.mean * steep)


def _log_sum(parts: list[Array]) -> tuple[Array, Array]:
    """The logarithm of the sum over cells of products, from logarithms (..., c) of factors; and the cells' shares."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    xp = namespace(total)
    highest = xp.max(total, axis=-1, keepdims=True)
    weights = xp.exp(total - highest)
    whole = xp.sum(weights, axis=-1, keepdims=True)
    return (highest + xp.log(whole))[..., 0], weights / whole


def _log_mean(each: Array) -> tuple[Array, Array]:
    """The logarithm of the mean over H, from logarithms (1, H, m), and every sample's share in it."""
    xp = namespace(each)
    highest = xp.max(each, axis=1, keepdims=True)
    weights = xp.exp(each - highest)
    whole = xp.sum(weights, axis=1, keepdims=True)
    return highest[:, 0, :] + xp.log(whole[:, 0, :] / each.shape[1]), weights / whole


def _standard(post: Posterior, mean: Array, variance: Array) -> tuple[Array, Array]:
    xp = namespace(mean)
    return mean, xp.sqrt(xp.maximum(variance, (LEAST_SD * post.hyper.amplitude[..., None]) ** 2))


def _with_slopes(post: Posterior, points: Array) -> tuple[Array, Array, Array, Array]:
    """Mean and standard deviation (1, H, m) with their gradients (1, H, m, d)."""
    mean, variance, mean_slope, variance_slope = post.predict_gradient(points)
    _, sd = _standard(post, mean, variance)
    return mean, sd, mean_slope, 0.5 * variance_slope / sd[..., None]
