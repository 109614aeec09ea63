"""The models of several outputs together: what is feasible, the front of the posterior means, how much it dominates.

Inside, every output is standardized and larger is better; a constraint holds where its output is at least its bound.

Notation
    J, C    objectives, constraints          H    hyperparameter samples of each output
    F       points of a front
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xstar.acquisition import Prepared
from xstar.acquisition.hypervolume import JointImprovementScore
from xstar.acquisition.mean import MeanScore
from xstar.engine.cache import Models
from xstar.engine.incumbents import recommend
from xstar.engine.joint.evidence import JointEvidence
from xstar.engine.model import RECOMMENDATION, Model
from xstar.engine.settings import Settings
from xstar.entropy.optima import Optima, draw_optima
from xstar.feasibility import Feasibility
from xstar.goals import Goals
from xstar.gp.outputs import Outputs
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import HostArray, move, to_numpy
from xstar.numerics.pareto import hypervolume, nondominated, spread_out
from xstar.search import (
    Domain,
    MixedSearch,
    Objective,
    Points,
    Region,
    Scalarized,
    Screened,
    draw_candidates,
    maximize_scalarized,
)
from xstar.search.box import distinct

LIKELY = 0.5
"""The probability of feasibility from which a tested point counts as feasible."""
HOPELESS = 0.05
"""Below this it is of no use to compare probabilities: they are largest where nothing is known."""
BEYOND = 0.1
"""A reference is this share of the front's range below its worst values."""
MOST_FRONT = 20
"""Points of a recommended front."""
FRONT_STARTS = 3
"""Local searches for each of them."""
SLACK = 1e-3
"""Of a probability, for what a search leaves."""


@dataclass(frozen=True)
class JointModel:
    """Posteriors of all outputs, with what is wanted of them."""

    settings: Settings
    evidence: JointEvidence
    models: Mapping[str, Model]
    """By output, objectives first."""

    @property
    def goals(self) -> Goals:
        """What is wanted."""
        assert self.settings.goals is not None, "of a study of several outputs"
        return self.settings.goals

    @property
    def first(self) -> Model:
        """The model of the first objective, which knows of failures, too."""
        return next(iter(self.models.values()))

    @property
    def objectives(self) -> list[Model]:
        """The models of the objectives."""
        return [self.models[name] for name in self.goals.objectives]

    @property
    def constraints(self) -> list[Model]:
        """Those of the constraints."""
        return [self.models[name] for name in self.goals.constraints]

    @property
    def domain(self) -> Domain:
        """The legal points."""
        return self.settings.space.domain

    @property
    def feasibility(self) -> Feasibility | None:
        """The probability that an evaluation does not fail."""
        return self.first.feasibility

    @property
    def region(self) -> Region:
        """Where the optimum may be."""
        return self.first.region

    @cached_property
    def outputs(self) -> Outputs:
        """The posteriors, with the bounds of the constraints in y."""
        bounds = []
        for name, item in self.goals.constraints.items():
            model = self.models[name]
            value = model.settings.direction.sign * item.bound
            bounds.append(float(model.scaling.forward(np.array([value]))[0]))
        most = max(model.post.batch_shape[0] for model in self.models.values())
        objectives, constraints = (
            tuple(_repeated(model.post, most) for model in part) for part in (self.objectives, self.constraints)
        )
        return Outputs(objectives, constraints, tuple(bounds), self._of_interest)

    @property
    def _of_interest(self) -> tuple[float, ...] | None:
        """The references of several objectives that were given, in y; minus infinity for the others."""
        given = [item.reference for item in self.goals.objectives.values()]
        if not self.goals.several or not any(value is not None for value in given):
            return None
        found = []
        for model, value in zip(self.objectives, given, strict=True):
            y = (
                -math.inf
                if value is None
                else model.scaling.forward(np.array([model.settings.direction.sign * value]))[0]
            )
            found.append(float(y))
        return tuple(found)

    @cached_property
    def reference(self) -> HostArray:
        """Where hypervolumes are measured from, in y, shape (J,): below the ends of the front of the posterior means.

        Were it below those of the points evaluated, nothing beyond them would ever be a gain, where one objective is
        better than there and another one worse.
        """
        told = self.means(self._rows)
        rows = self.domain.snap(self._candidates(np.random.default_rng(RECOMMENDATION), self._rows[:0]))
        likely = np.concatenate([told[self._likely], self.means(rows[self.feasible(rows) >= LIKELY])])
        known = likely if len(likely) else told
        front = known[nondominated(known)]
        low, span = front.min(axis=0), np.ptp(front, axis=0)
        # Where the front is one point, the range of all that was told.
        span = np.where(span > 0.0, span, np.ptp(told, axis=0))
        found = low - BEYOND * np.where(span > 0.0, span, 1.0)
        given = np.array(self._of_interest or [-math.inf] * len(found))
        return np.where(np.isfinite(given), given, found)

    def means(self, rows: HostArray) -> HostArray:
        """The posterior means of the objectives at points (m, d), in y, shape (m, J)."""
        return np.stack([model.mean(rows) for model in self.objectives], axis=-1)

    def constraints_hold(self, rows: HostArray) -> HostArray:
        """The probability that all constraints hold at points (m, d)."""
        if not self.constraints:
            return np.ones(len(rows))
        found = np.exp(to_numpy(self._log_feasible(rows))) if len(rows) else np.ones(0)
        if not self._exact:
            return found
        known = [self._exact.get(row.tobytes()) for row in np.ascontiguousarray(rows)]
        return np.array([was if told is None else told for was, told in zip(found, known, strict=True)])

    @cached_property
    def _exact(self) -> dict[bytes, float]:
        """Whether all constraints hold at points where they are known without noise: even exactly at a bound."""
        found: dict[bytes, float] = {}
        for k, (name, item) in enumerate(self.goals.constraints.items()):
            own, sign = self.evidence.each[name], self.models[name].settings.direction.sign
            held = {
                row.tobytes(): float(item.is_met(sign * value))
                for row, value, sd in zip(own.X, own.values, own.sd, strict=True)
                if sd == 0.0
            }
            found = held if k == 0 else {key: found[key] * held[key] for key in found if key in held}
        return found

    def feasible(self, rows: HostArray) -> HostArray:
        """The probability that an evaluation at points (m, d) does not fail and all constraints hold."""
        return self.first.feasible(rows) * self.constraints_hold(rows)

    def height(self, values: HostArray) -> float:
        """How high values (n, J) of the objectives reach: the largest, or the hypervolume that they dominate."""
        if self.goals.several:
            return hypervolume(values, self.reference)
        return float(np.max(values, initial=-math.inf))

    @cached_property
    def tested(self) -> HostArray:
        """Legal points (k, d) that have been evaluated and are likely to be feasible."""
        legal = self.evidence.whole.legal
        return self._rows[self._likely & legal]

    @property
    def seeking(self) -> bool:
        """Whether nothing is likely to be feasible of all that was evaluated."""
        return not len(self.tested)

    @property
    def noise(self) -> float:
        """The noise of an evaluation, in the units of `height`."""
        noises = np.array([model.noise[0] for model in self.objectives])
        if not self.goals.several:
            return float(noises[0])
        ranges = np.maximum(self.means(self._rows).max(axis=0) - self.reference, 0.0)
        return float(sum(noise * np.prod(np.delete(ranges, j)) for j, noise in enumerate(noises)))

    def draw_optima(self, count: int, rng: np.random.Generator, num_points: int = 3) -> Optima:
        """Draws of the optimum, at least so many."""
        per_sample = math.ceil(count / self.outputs.num_hyper)
        return draw_optima(self.outputs, per_sample, rng, num_points=num_points, region=self.region)

    def heights(self, optima: Optima) -> HostArray:
        """The heights of sampled optima, shape (N,); of those on whose paths nothing is feasible, minus infinity."""
        if self.goals.several:
            return optima.volumes(self.reference)
        return np.where(to_numpy(optima.feasible), to_numpy(optima.values)[0, ..., 0], -math.inf).ravel()

    def maximize(
        self, objective: Objective, rng: np.random.Generator, *, within: Domain, excluded: Points | None = None,
        around: HostArray | None = None,
    ) -> tuple[HostArray, float]:  # fmt: skip
        """The best legal point (d,) of one function within a part of the domain, and its value."""
        candidates = self._candidates(rng, self._rows[:0] if around is None else around)
        search = MixedSearch(within, excluded, settings=self.settings.model.search)
        found = search.maximize(objective, candidates)
        return to_numpy(found.x)[0], float(found.value[0])

    @cached_property
    def front(self) -> HostArray:
        """The point to recommend of one objective; of several, the front of the posterior means (F, d)."""
        return self.front_within(self.domain)

    def front_within(self, part: Domain) -> HostArray:
        """The same of a part of the domain; if nothing there is sure enough to be feasible, what is most so."""
        if part == self.domain and "front" in self.__dict__:
            return self.front
        rng = np.random.default_rng(RECOMMENDATION)
        rows = self._candidates(rng, self.tested[:0])
        points = distinct(part.snap(to_numpy(rows)))
        tested = self.tested_within(part)
        points = distinct(np.concatenate([points, tested]))
        sure = self.feasible(points) >= self._sure
        if not sure.any():
            return self._most_feasible(part)[None]
        means = self.means(points)
        if self._of_interest is not None and (above := sure & np.all(means >= self._of_interest, axis=-1)).any():
            sure = above
        front = np.flatnonzero(sure)[nondominated(means[sure])]
        picked = front[spread_out(means[front], MOST_FRONT, 0)]
        found = self._climbed(part, points, means, picked)
        everything = distinct(np.concatenate([found, points[front], tested]))
        everything = everything[self.feasible(everything) >= self._sure - SLACK]
        if not self.goals.several:
            return self._cautious(everything, tested)[None]
        values = self.means(everything)
        kept = nondominated(values)
        if self._of_interest is not None and (above := kept & np.all(values >= self._of_interest, axis=-1)).any():
            kept = above
        return np.asarray(everything[kept])

    @cached_property
    def shown_front(self) -> HostArray:
        """Some points of the front, far from each other, half of them evaluated where there are such."""
        values = self.means(self.front)
        tested = np.flatnonzero([self.evidence.whole.was_tested(row) for row in self.front])
        first = [int(np.argmax(values[:, 0]))]
        if len(tested):
            first = tested[spread_out(values[tested], MOST_FRONT // 2, int(np.argmax(values[tested, 0])))].tolist()
        return np.asarray(self.front[spread_out(values, MOST_FRONT, *first)])

    def _climbed(self, part: Domain, points: HostArray, means: HostArray, picked: HostArray) -> HostArray:
        """Points (q, d) that are better than the picked ones of the design, as far as there are such."""
        J, like = len(self.objectives), self.outputs.objectives[0].data.X
        mean_scores: tuple[Objective, ...] = tuple(
            Prepared(MeanScore(model.post.by_problem())) for model in self.objectives
        )
        limits: tuple[Objective, ...] = (self._log_feasible,) if self.constraints else ()
        sure = (math.log(self._sure),) if self.constraints else ()
        screened = Screened(points, tuple(score.screen(points) for score in (*mean_scores, *limits)))
        functions = Scalarized(mean_scores, limits, sure, screened=screened)
        if J > 1:
            unit = np.maximum(np.ptp(means[picked], axis=0), 1e-3 * np.ptp(means, axis=0))
            unit = np.where(unit > 0.0, unit, 1.0)  # of means that are the same everywhere, as after the first value
            functions = Scalarized(
                mean_scores, limits, sure, move(means[picked][None], like), move(unit[None, None], like),
                screened=screened,
            )  # fmt: skip
        strict = (
            None if self.feasibility is None else self.feasibility.at_level(self.feasibility.settings.recommended_level)
        )
        found, _ = maximize_scalarized(
            functions, Region(part, strict), move(points, like), self.settings.model.search,
            None if J == 1 else FRONT_STARTS,
        )  # fmt: skip
        return to_numpy(found.x)

    def _cautious(self, rows: HostArray, tested: HostArray) -> HostArray:
        """The point to recommend of a single objective: see `engine.incumbents`."""
        best = rows[np.argmax(self.means(rows)[:, 0])]
        sure = tested[self.feasible(tested) >= self._sure - SLACK]
        if not len(sure):
            return np.asarray(best)
        best_tested = sure[np.argmax(self.means(sure)[:, 0])]
        told = self.models[self.goals.single].evidence
        keys = {row.tobytes() for row in sure}
        observed = np.array([row.tobytes() in keys for row in told.X], dtype=bool)
        if not observed.any():
            return np.asarray(best)
        luckiest = told.X[observed][np.argmax(told.values[observed])]
        chosen = recommend(self.first.post, luckiest[None], best_tested[None], best[None], self.settings.strategy)
        return np.asarray(chosen[0])

    def _most_feasible(self, part: Domain) -> HostArray:
        """The point (d,) that is most likely to be feasible; if that is hopeless, the one expected to violate least."""
        means: tuple[Objective, ...] = tuple(Prepared(MeanScore(post)) for post in self.outputs.constraints)
        for objective in (self._log_feasible, Scalarized((), means, self.outputs.bounds)):
            weighed: Objective = objective
            if self.feasibility is not None:
                weighed = self.feasibility.weigh(objective, power=1.0, additive=True)
            row, _ = self.maximize(weighed, np.random.default_rng(RECOMMENDATION), within=part)
            if self.feasible(row[None])[0] >= HOPELESS:
                break
        return row

    def tested_within(self, part: Domain) -> HostArray:
        """Tested points in a part of the domain."""
        return self.tested[np.all(part.snap(self.tested) == self.tested, axis=-1)]

    @property
    def _sure(self) -> float:
        """The probability of feasibility that a recommendation has."""
        return self.settings.model.sure

    @cached_property
    def _log_feasible(self) -> Prepared:
        outputs = self.outputs
        return Prepared(JointImprovementScore(outputs.objectives, outputs.constraints, outputs.bounds, None))

    @property
    def _rows(self) -> HostArray:
        """All points that were evaluated."""
        return self.evidence.whole.X

    @cached_property
    def _likely(self) -> HostArray:
        return np.asarray(self.feasible(self._rows) >= LIKELY)

    def _candidates(self, rng: np.random.Generator, around: HostArray) -> HostArray:
        own = self.settings.model
        tested = self.tested if len(self.tested) else self._rows
        means = self.means(tested)
        best = np.flatnonzero(nondominated(means))
        picked = best[spread_out(means[best], own.max_centers, int(np.argmax(means[best, 0])))] if len(best) else best
        centers = np.clip(np.concatenate([tested[picked], around])[: own.max_centers], 0.0, 1.0)
        drawn = draw_candidates(
            own.num_candidates, np.clip(self._rows, 0.0, 1.0), rng, around=centers, settings=own.search
        )
        return np.concatenate([to_numpy(drawn), around])

    def predict_values(self, rows: HostArray) -> dict[str, tuple[HostArray, HostArray]]:
        """Mean and standard deviation of every output at points (m, d), in the user's units."""
        return {name: model.predict_values(rows) for name, model in self.models.items()}

    def in_values(self, y: HostArray) -> HostArray:
        """Values (n, J) of the objectives in the user's units, of y, all of them to be maximized."""
        return np.stack([model.scaling.inverse(y[:, j]) for j, model in enumerate(self.objectives)], axis=-1)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """How the hyperparameters of each output came about."""
        return {"outputs": {name: model.diagnostics for name, model in self.models.items()}}


def _repeated(post: Posterior, count: int) -> Posterior:
    """The posterior with as many hyperparameter samples as the others: a simpler model has one."""
    if post.batch_shape[0] == count:
        return post
    return Posterior.of(post.kernel, post.hyper.take(np.arange(count) % post.batch_shape[0]), post.data)


class JointModels:
    """The latest models of every output, each a function of settings and evidence."""

    def __init__(self) -> None:
        self.each: defaultdict[str, Models] = defaultdict(Models)
        self._latest: list[JointModel] = []

    def model(self, settings: Settings, evidence: JointEvidence) -> JointModel:
        """Return the model of the results in evidence."""
        return self._of(settings, evidence, claims=False)

    def for_claims(self, settings: Settings, evidence: JointEvidence) -> JointModel:
        """Return the model for claims about them."""
        return self._of(settings, evidence, claims=True)

    def _of(self, settings: Settings, evidence: JointEvidence, *, claims: bool) -> JointModel:
        models = {}
        for name, own in evidence.each.items():
            cache = self.each[name]
            find = cache.for_claims if claims else cache.model
            models[name] = find(settings.of_output(name), own)
        for known in self._latest:
            if known.settings == settings and all(known.models[name] is model for name, model in models.items()):
                return known
        found = JointModel(settings, evidence, models)
        self._latest = [found, *self._latest][:4]
        return found
