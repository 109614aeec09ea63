"""Every random number of a study, as a function of its seed and of a trial's number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Seeds(NamedTuple):
    """The generators of suggestion `number` of a study with this seed."""

    seed: int
    number: int = 0

    def design(self) -> np.random.Generator:
        """Return the same for all suggestions of a study: they are points of one design."""
        return np.random.default_rng([self.seed, 0])

    def inference(self) -> np.random.Generator:
        """Return the same for all suggestions, so that those without new data between them share a model."""
        return np.random.default_rng([self.seed, 1])

    def acquisition(self) -> np.random.Generator:
        """Return one for draws that suggestions should not share."""
        return np.random.default_rng([self.seed, 2, self.number])

    def optimum(self) -> np.random.Generator:
        """Return the one for draws of where the optimum is."""
        return np.random.default_rng([self.seed, 3])

    def information(self) -> np.random.Generator:
        """Return the one for questions about the information of evaluations."""
        return np.random.default_rng([self.seed, 4])

    def importance(self) -> np.random.Generator:
        """Return the one for draws of how much each parameter matters."""
        return np.random.default_rng([self.seed, 5])
