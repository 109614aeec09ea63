"""Functions that are penalized where evaluations are not likely to be feasible.

One class serves both searches that feasibility has a say in: sample paths, whose maximum is looked for among the
feasible points, and scores, which are worth what they promise times the probability of feasibility.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.search import Objective


class Penalty(Protocol):
    """What is added to the logarithm of a function's worth; `Feasibility` has it."""

    def penalty(self, X: HostArray, power: float = 0.0, steepness: float | None = None) -> HostArray:
        """At points (m, d), shape (m,)."""

    def penalty_derivatives(
        self, X: HostArray, power: float = 0.0, steepness: float | None = None
    ) -> tuple[HostArray, HostArray, HostArray]:
        """The same with its gradient (m, d) and, without what `power` adds, its Hessian (m, d, d)."""


@dataclass(frozen=True)
class Penalized:
    """Functions times P(feasible)^power, and next to nothing where that is below the level of `feasibility`.

    Where functions are logarithms or values (`additive`), the logarithm is added. A score with a power of 1 is the
    expected one: a failure tells nothing of the function. It is an `Objective` of `xstar.search`; with a power, or as a
    product, Hessians are lost.
    """

    objective: Objective
    feasibility: Penalty
    power: float = 0.0
    additive: bool = True
    steepness: float | None = None
    """Of the penalty below the level; by default that of `feasibility`."""

    @property
    def num_problems(self) -> int:
        """P."""
        return self.objective.num_problems

    @property
    def dimension(self) -> int:
        """d."""
        return self.objective.dimension

    @property
    def rounding(self) -> Array | None:
        """How much of each function's value may be rounding, if that is known; shape (P,)."""
        return getattr(self.objective, "rounding", None)

    def screen(self, X: Any, /) -> Array:
        """Values at points (n, d) or (R, n, d), good enough to rank them; shape (P, n)."""
        value = self.objective.screen(X)
        penalty = self.feasibility.penalty(_rows(X), self.power, self.steepness)
        return self._combine(value, move(penalty.reshape(-1, value.shape[1]), value))

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Values of some functions (P',) at their own points (P', q, d), shape (P', q)."""
        value = self.objective.value(x, problems)
        penalty = self.feasibility.penalty(_rows(x), self.power, self.steepness)
        return self._combine(value, move(penalty.reshape(value.shape), value))

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Values and derivatives of some functions (P',) at their own points (P', q, d)."""
        return self._with_slopes(self.objective.evaluate(x, problems), x)

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        """The same, as cheaply as tells good hills from bad ones."""
        return self._with_slopes(self.objective.evaluate_roughly(x, problems), x)

    def _combine(self, value: Array, penalty: Array) -> Array:
        xp = namespace(value)
        # A score below zero (ES has some) must not gain by a small weight.
        return value + penalty if self.additive else xp.clip(value, min=0.0) * xp.exp(penalty)

    def _with_slopes(self, there: Evaluation, x: Array) -> Evaluation:
        value, gradient, hessian = there
        xp = namespace(value)
        host = self.feasibility.penalty_derivatives(_rows(x), self.power, self.steepness)
        penalty, slope = move(host[0].reshape(value.shape), value), move(host[1].reshape(gradient.shape), value)
        if not self.additive:
            weight = xp.where(value > 0.0, xp.exp(penalty), 0.0)
            return Evaluation(self._combine(value, penalty), weight[..., None] * (gradient + value[..., None] * slope))
        if hessian is None or self.power != 0.0:
            return Evaluation(value + penalty, gradient + slope)
        return Evaluation(value + penalty, gradient + slope, hessian + move(host[2].reshape(hessian.shape), value))


def _rows(x: Array) -> HostArray:
    """Points (..., d) as host rows (N, d)."""
    host = to_numpy(x)
    return host.reshape(-1, host.shape[-1])
