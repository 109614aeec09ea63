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
from scipy.special import ndtri

from xstar.acquisition import Acquisition, Prepared
from xstar.acquisition.mean import MeanScore
from xstar.engine.evidence import Evidence
from xstar.engine.incumbents import recommend
from xstar.engine.scaling import LARGEST, Scaling
from xstar.engine.settings import Settings
from xstar.entropy.maximizers import best_of_each, draw_maximizers
from xstar.feasibility import Feasibility
from xstar.gp import Inferred, Posterior
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.search import Domain, MixedSearch, Objective, Points, Region, draw_candidates
from xstar.trial import Prediction

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
    fallback: str | None = None
    """Why this is a simpler model than the one asked for; None if it is not."""

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
        """How the hyperparameters came about: the kernel chosen, how well the inference went, or why there was none."""
        found = self.inferred
        return {
            "kernel": type(self.post.kernel).__name__,
            "inference_converged": found.converged,
            "likelihood_evaluations": found.evaluations,
            "r_hat": None if found.r_hat is None else _known(np.max(found.r_hat)),
            "effective_sample_size": (
                None if found.effective_sample_size is None else _known(np.min(found.effective_sample_size))
            ),
            **({} if self.fallback is None else {"fallback": self.fallback}),
        }

    def predict(self, rows: HostArray) -> tuple[HostArray, HostArray]:
        """Mean and standard deviation of y at points (m, d), over all hyperparameter samples; shapes (m,)."""
        mean, variance = (to_numpy(part) for part in self.post.predict(rows))
        return mean.mean(axis=0), np.sqrt(variance.mean(axis=0) + mean.var(axis=0))

    def predict_values(self, rows: HostArray) -> tuple[HostArray, HostArray]:
        """The same in the user's units, where a minimization's values have their own sign again."""
        mean, sd = self.predict(rows)
        return self.settings.direction.sign * self.scaling.inverse(mean), self.scaling.spread(mean, sd)

    def prediction(self, row: HostArray) -> Prediction:
        """What the model says of a point (d,) that is to be evaluated."""
        mean, sd = self.predict(row[None])
        value = self.settings.direction.sign * self.scaling.inverse(mean)
        parts = value, self.scaling.spread(mean, sd), self.scaling.spread(mean, self.noise)
        return Prediction(*(float(part[0]) for part in parts))

    def interval(self, rows: HostArray, probability: float) -> tuple[HostArray, HostArray]:
        """The ends of the central intervals of f at points (m, d), in the user's units; each (m,)."""
        mean, sd = self.predict(rows)
        reach = float(ndtri(0.5 + probability / 2.0))
        sign = self.settings.direction.sign
        ends = [sign * self.scaling.inverse(mean + side * reach * sd) for side in (-1.0, 1.0)]
        return np.minimum(*ends), np.maximum(*ends)

    def similarity(self, rows: HostArray, others: HostArray) -> HostArray:
        """How alike f is at points (m, d) and at as many others, before anything was told; (m,).

        max(0, 1 - sd(f(a) - f(b)))    in units of the spread of the values told, over all hyperparameter samples
        """
        scaled = (rows - others) / to_numpy(self.post.hyper.lengthscales)[:, None, :]
        (rho,) = self.post.kernel.profile(np.sum(scaled**2, axis=-1), 0)
        variance = 2.0 * to_numpy(self.post.hyper.variance)[:, None] * (1.0 - rho)
        return np.asarray(np.maximum(1.0 - np.sqrt(np.maximum(variance, 0.0).mean(axis=0)), 0.0))

    @cached_property
    def plausible(self) -> tuple[float, float]:
        """Values in the user's units that something supports: those told, and as far beyond as they are apart."""
        told = self.settings.direction.sign * self.evidence.values
        low, high = float(np.min(told)), float(np.max(told))
        with np.errstate(over="ignore"):
            width = high - low
            return float(np.maximum(low - width, -LARGEST)), float(np.minimum(high + width, LARGEST))

    def is_plausible(self, value: float) -> bool:
        """Whether something supports a predicted value; while all values are the same, nothing can be said."""
        low, high = self.plausible
        return low <= value <= high or not self.scaling.informative

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
        excluded: Points | None = None, around: HostArray | None = None,
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

    def sample_optima(
        self, count: int, row: HostArray, rng: np.random.Generator
    ) -> tuple[HostArray, HostArray, HostArray]:
        """Draws of the optimum (count, d), and each path's value there and at a point (d,), in y (count,)."""
        H = self.post.batch_shape[0]
        drawn = draw_maximizers(self.post, math.ceil(count / H), rng, region=self.region)
        picked = rng.permutation(drawn.paths.num_problems)[:count]
        here = to_numpy(drawn.paths(row[None]))
        return (
            to_numpy(drawn.x).reshape(-1, self.domain.dimension)[picked],
            to_numpy(drawn.value).reshape(-1)[picked],
            here.reshape(-1)[picked],
        )

    def sampled_maxima(self, count: int, rng: np.random.Generator) -> HostArray:
        """Draws of the height of the optimum, at least so many, shape (N,), in y."""
        paths = math.ceil(count / self.post.batch_shape[0])
        return np.asarray(to_numpy(draw_maximizers(self.post, paths, rng, region=self.region).value).ravel())

    @property
    def noise(self) -> HostArray:
        """The standard deviation of the next value's noise in y, shape (1,)."""
        return np.asarray(to_numpy(self.post.hyper.noise).mean(keepdims=True))

    def in_values(self, low: HostArray, high: HostArray) -> float | None:
        """The step from one height of y (1,) to another in the user's units; None from nowhere."""
        if not np.isfinite(low[0]):
            return None
        # Two of the largest floats are too far apart for one.
        first, second = 0.5 * self.scaling.inverse(np.concatenate([low, high]))
        return float(2.0 * np.clip(second - first, -0.5 * LARGEST, 0.5 * LARGEST))

    @cached_property
    def best_row(self) -> HostArray:
        """The legal point with the best posterior mean among those likely to be feasible."""
        found, value = self._highest(self.domain)
        # Where the mean is flat, a point that was evaluated is better than one that was not.
        if self.tested_row is not None and self._height(self.tested_row) >= value - self.settings.model.flat:
            return self.tested_row
        return found

    def best_within(self, part: Domain) -> HostArray:
        """The same of a part of the domain."""
        return self.best_row if part == self.domain else self._highest(part)[0]

    def _highest(self, part: Domain) -> tuple[HostArray, float]:
        return self.maximize(self._heights, np.random.default_rng(RECOMMENDATION), within=part)

    @cached_property
    def recommended_row(self) -> HostArray:
        """The point to recommend: the best of all if it is known to be better than those evaluated (`incumbents`)."""
        if self.tested_row is None or self.observed_row is None or not self._is_sure(self.tested_row):
            return self.best_row
        rows = (self.observed_row[None], self.tested_row[None], self.best_row[None])
        return np.asarray(recommend(self.post, *rows, self.settings.strategy)[0])

    @cached_property
    def tested_row(self) -> HostArray | None:
        """The legal point with the best posterior mean among those evaluated; None if there is none."""
        return self._best_mean(self._tested[0])

    def tested_within(self, part: Domain) -> HostArray | None:
        """The same of a part of the domain."""
        rows, _ = self._tested
        return self._best_mean(rows[np.all(part.snap(rows) == rows, axis=-1)])

    def _best_mean(self, rows: HostArray) -> HostArray | None:
        return np.asarray(rows[int(np.argmax(self.mean(rows)))]) if len(rows) else None

    @cached_property
    def observed_row(self) -> HostArray | None:
        """The legal point with the best value told, of several the one with the best mean; None if there is none."""
        rows, values = self._tested
        if not len(rows):
            return None
        rows = rows[values == values.max()]
        return np.asarray(rows[int(np.argmax(self.mean(rows)))])

    @cached_property
    def _tested(self) -> tuple[HostArray, HostArray]:
        """Legal points (k, d) with their values; where evaluations fail, those likely to be feasible, if there are."""
        rows, values = (part[self.evidence.legal] for part in (self.evidence.X, self.evidence.values))
        if self._strict is None or not len(rows):
            return rows, values
        for likely in (self._strict.reaches_level(rows), self._strict.is_likely(rows)):
            if likely.any():
                return rows[likely], values[likely]
        return rows, values

    def _is_sure(self, row: HostArray) -> bool:
        """Whether a point is as likely to be feasible as a recommendation should be."""
        return self._strict is None or bool(self._strict.reaches_level(row[None])[0])

    def mean(self, rows: HostArray) -> HostArray:
        """The posterior mean of y at points (m, d), shape (m,)."""
        return np.asarray(to_numpy(self.post.predict_mean(rows)).mean(axis=0))

    @cached_property
    def _heights(self) -> Objective:
        """The posterior mean, where evaluations are likely to be feasible."""
        score: Objective = Prepared(MeanScore(self.post.by_problem()))
        return score if self._strict is None else self._strict.restrict(score)

    @cached_property
    def _strict(self) -> Feasibility | None:
        """For recommendations, where a point is likely to be feasible only at a higher level."""
        own = self.feasibility
        return None if own is None else own.at_level(own.settings.recommended_level)

    def _height(self, row: HostArray) -> float:
        return float(to_numpy(self._heights.screen(row[None]))[0, 0])


def _known(value: float) -> float | None:
    """The value; None if there were too few draws to tell."""
    return None if math.isnan(value) else float(value)
