"""When to stop: with enough probability, no more than a tolerance is left to gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xstar.beliefs import OptimumPosterior


@dataclass(frozen=True)
class Tolerance:
    """The bound on the regret at which a run has found what it was looking for."""

    amount: float
    """In the user's units."""
    probability: float = 0.95
    """That no more than the amount is left to gain."""
    few_samples: int = 100
    """Draws of the optimum that are looked at after every evaluation."""

    def is_met(self, where: Callable[[int], OptimumPosterior], samples: int = 200) -> bool:
        """Return whether the bound holds; `where` draws a number of optima.

        The few draws of every step may be lucky once: those of a result decide.
        """
        return self.left(where(self.few_samples)) <= self.amount and self.left(where(samples)) <= self.amount

    def left(self, where: OptimumPosterior) -> float:
        """Return what may be left to gain, at this probability."""
        return where.regret_quantile(self.probability)
