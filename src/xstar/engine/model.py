"""A fitted model: what it predicts, where its best point is, where the optimum may be.

Notation
    y    standardized values, larger is better
    H    hyperparameter samples
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xstar.acquisition import Acquisition, Prepared
from xstar.acquisition.mean import MeanScore
from xstar.engine.evidence import Evidence
from xstar.engine.scaling import Scaling
from xstar.engine.settings import Settings
from xstar.entropy.maximizers import best_of_each, draw_maximizers
from xstar.feasibility import Feasibility
from xstar.gp import Inferred, Posterior
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.search import Domain, MixedSearch, Objective, Region, draw_candidates, inside_cube

RECOMMENDATION = 0x57A2
"""The seed of the search for the best posterior mean: a recommendation depends on the data alone."""


@dataclass(frozen=True)
class Model:
    """A posterior with the scaling of its values, and the probability of feasibility."""

    settings: Settings
    evidence: Evidence
    """Of which pending points have no part in the model."""
    scaling: Scaling
    inferred: Inferred
    post: Posterior
    """Leading axis H; y is standardized."""
    feasibility: Feasibility | None

    @property
    def domain(self) -> Domain:
        """The legal points."""
        return self.settings.space.domain

    @property
    def region(self) -> Region:
        """Where the optimum may be."""
        return Region(self.domain, self.feasibility)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """How the hyperparameters came about: the kernel that was chosen, and how well the inference went."""
        found = self.inferred
        return {
            "kernel": type(self.post.kernel).__name__,
            "inference_converged": found.converged,
            "likelihood_evaluations": found.evaluations,
            "r_hat": None if found.r_hat is None else _known(np.max(found.r_hat)),
            "effective_sample_size": (
                None if found.effective_sample_size is None else _known(np.min(found.effective_sample_size))
            ),
        }

    def predict(self, rows: HostArray) -> tuple[HostArray, HostArray]:
        """Mean and standard deviation of y at points (m, d), over all hyperparameter samples; shapes (m,)."""
        mean, variance = (to_numpy(part) for part in self.post.predict(rows))
        return mean.mean(axis=0), np.sqrt(variance.mean(axis=0) + mean.var(axis=0))

    def predict_values(self, rows: HostArray) -> tuple[HostArray, HostArray]:
        """The same in the user's units, where a minimization's values have their own sign again."""
        mean, sd = self.predict(rows)
        return self.settings.direction.sign * self.scaling.inverse(mean), self.scaling.spread(mean, sd)

    def unknown_share(self, rows: HostArray) -> HostArray:
        """The share of the prior variance that the data have left at points (m, d): 1 where nothing is known."""
        _, variance = self.post.predict(rows)
        return np.asarray(to_numpy(variance / self.post.hyper.variance[:, None]).mean(axis=0))

    def feasible(self, rows: HostArray) -> HostArray:
        """The probability of feasibility at points (m, d)."""
        return np.ones(len(rows)) if self.feasibility is None else self.feasibility.probability(rows)

    def prepare(self, acquisition: Acquisition, rng: np.random.Generator, pending: HostArray) -> Prepared:
        """The score of an acquisition, counting on pending points (k, d)."""
        return acquisition.prepare(self.post, rng, pending if len(pending) else None, *self.region)

    def maximize(
        self, objective: Objective, rng: np.random.Generator, *, within: Domain | None = None,
        excluded: frozenset[bytes] = frozenset(), around: HostArray | None = None,
    ) -> tuple[HostArray, float]:  # fmt: skip
        """The best legal point of one function (d,), of all or within a part of the domain, and its value."""
        candidates = self._candidates(rng, np.zeros((0, self.domain.dimension)) if around is None else around)
        found = MixedSearch(within or self.domain, excluded, settings=self.settings.model.search).maximize(
            objective, candidates
        )
        return to_numpy(found.x)[0], float(found.value[0])

    @cached_property
    def incumbents(self) -> HostArray:
        """The few legal data points (k, d) with the largest posterior mean."""
        points, found = best_of_each(self.post)
        return to_numpy(points)[0, : int(found[0].sum())]

    def _candidates(self, rng: np.random.Generator, around: HostArray) -> HostArray:
        """Points all over the cube, the data, and local candidates about the best of them and of `around`."""
        own = self.settings.model
        centers = np.concatenate([self.incumbents, around])[: own.max_centers]
        inside = np.clip(self.evidence.X, 0.0, 1.0)
        drawn = draw_candidates(own.num_candidates, inside, rng, around=centers, settings=own.search)
        return np.concatenate([drawn, around])

    def sample_optima(self, count: int, rng: np.random.Generator) -> tuple[HostArray, HostArray, HostArray]:
        """Draws of the optimum (count, d), and each path's value there and at the recommendation (count,), in y."""
        H = self.post.batch_shape[0]
        drawn = draw_maximizers(self.post, math.ceil(count / H), rng, region=self.region)
        picked = rng.permutation(drawn.paths.num_problems)[:count]
        here = to_numpy(drawn.paths(self.best_row[None]))
        return (
            to_numpy(drawn.x).reshape(-1, self.domain.dimension)[picked],
            to_numpy(drawn.value).reshape(-1)[picked],
            here.reshape(-1)[picked],
        )

    @cached_property
    def best_row(self) -> HostArray:
        """The legal point with the best posterior mean among those likely to be feasible."""
        score: Objective = Prepared(MeanScore(self.post.by_problem()))
        if self.feasibility is not None:
            strict = self.feasibility.at_level(self.feasibility.settings.recommended_level)
            score = strict.weigh(score, power=0.0, additive=True)
        found, value = self.maximize(score, np.random.default_rng(RECOMMENDATION))
        # Where the mean is flat, a point that was evaluated is better than one that was not.
        known = self.evidence.X[inside_cube(self.evidence.X)]
        if len(known):
            heights = to_numpy(score.screen(known))[0]
            if np.max(heights) >= value - self.settings.model.flat:
                return np.asarray(known[int(np.argmax(heights))])
        return found


def _known(value: float) -> float | None:
    """The value; None if there were too few draws to tell."""
    return None if math.isnan(value) else float(value)
