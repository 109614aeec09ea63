"""When to stop: with enough probability, no more than a tolerance is left to gain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xstar.beliefs import FrontPosterior, OptimumPosterior

SLACK = 1e-3
"""Of a probability, for what the search of a recommendation leaves."""


@dataclass(frozen=True)
class Tolerance:
    """The bound on the regret at which a run has found what it was looking for."""

    amount: float
    """In the user's units; of several objectives, a share of the hypervolume."""
    probability: float = 0.95
    """That no more than the amount is left to gain; with constraints, also that what is recommended is feasible."""
    few_samples: int = 100
    """Draws of the optimum that are looked at after every evaluation."""

    def is_met(self, where: Callable[[int], OptimumPosterior], samples: int = 200) -> bool:
        """Return whether the bound holds; `where` draws a number of optima.

        The few draws of every step may be lucky once: those of a result decide.
        """
        return all(self._holds(where(count)) for count in (self.few_samples, samples))

    def left(self, where: OptimumPosterior) -> float:
        """Return what may be left to gain, at this probability."""
        if isinstance(where, FrontPosterior):
            return float(np.quantile(where.share_left, self.probability, method="higher"))
        return where.regret_quantile(self.probability)

    def _holds(self, where: OptimumPosterior) -> bool:
        # Where nothing is feasible yet, no draw has anything to gain on what is recommended.
        best = where.recommendation
        return self.left(where) <= self.amount and not (best.outputs and best.feasibility < self.probability - SLACK)
