"""What the models of several outputs say together, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xstar.acquisition import PES, JointPES
from xstar.beliefs import FrontPosterior, OptimumPosterior, ParetoFront
from xstar.engine.answers import GROUPED, ROUNDING, optima_groups, sd_about, shown
from xstar.engine.joint.model import JointModel
from xstar.engine.seeds import Seeds
from xstar.entropy.optima import Optima
from xstar.goals import Goals
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.numerics.pareto import hypervolume, nondominated
from xstar.search.domain import Domain
from xstar.trial import Explanation, Forecast, Recommendation, Trial

FEASIBLE_ENOUGH = 0.05
"""Of tested points, those this close to the most feasible one are compared by their values."""
POINTS = 8
"""Of a sampled Pareto set: with three, as acquisitions have them, there would be its ends and one between."""
MOST_FRONTS = 20
"""Sampled fronts that are kept, for pictures."""


def recommendations(model: JointModel, claims: JointModel, part: Domain | None = None) -> list[Recommendation]:
    """Return the points to recommend: one for one objective, else some of the front of the posterior means."""
    rows = model.shown_front if part is None else model.front_within(part)
    return [_recommendation(model, claims, row) for row in rows]


def best_tested(model: JointModel, claims: JointModel, part: Domain | None = None) -> Recommendation | None:
    """Return the feasible point with the best posterior mean among those evaluated; None if there is none."""
    rows = model.tested_within(model.domain if part is None else part)
    sure = rows[model.feasible(rows) >= max(model.feasible(rows), default=0.0) - FEASIBLE_ENOUGH]
    return _recommendation(model, claims, sure[np.argmax(model.means(sure)[:, 0])]) if len(sure) else None


def _recommendation(model: JointModel, claims: JointModel, row: HostArray) -> Recommendation:
    outputs = {}
    means = model.predict_values(row[None])
    for name, (center, sd) in claims.predict_values(row[None]).items():
        mean = means[name][0]
        outputs[name] = Forecast(float(mean[0]), float(sd_about(mean, center, sd)[0]))
    first = outputs[next(iter(model.goals.objectives))]
    params = model.settings.space.decode(row)
    return Recommendation(
        params,
        first.mean,
        first.sd,
        float(model.feasible(row[None])[0]),
        model.evidence.whole.was_tested(row),
        not all(own.is_plausible(outputs[name].mean) for name, own in model.models.items()),
        shown(model.settings.space, params),
        outputs,
    )


def pareto(model: JointModel, claims: JointModel, trials: Sequence[Trial]) -> ParetoFront:
    """Return the recommended front, and the trials that no other one dominates."""
    reference = model.in_values(model.reference[None])[0] * _signs(model)
    return ParetoFront(
        tuple(recommendations(model, claims)),
        nondominated_trials(model.goals, trials),
        model.goals,
        dict(zip(model.goals.objectives, reference.tolist(), strict=True)),
    )


def nondominated_trials(goals: Goals, trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials within all bounds that no other one dominates, by the values told."""
    whole = [
        trial
        for trial in trials
        if all(name in trial.values for name in goals.objectives) and goals.are_met(trial.values)
    ]
    if not whole:
        return ()
    values = np.array(
        [[item.sign * trial.values[name] for name, item in _directions(goals)] for trial in whole], dtype=np.float64
    )
    return tuple(trial for trial, kept in zip(whole, nondominated(values), strict=True) if kept)


def _directions(goals: Goals) -> list[tuple[str, Any]]:
    return [(name, goals.direction(name)) for name in goals.objectives]


def _signs(model: JointModel) -> HostArray:
    return np.array([direction.sign for _, direction in _directions(model.goals)])


def optimum_posterior(
    model: JointModel, claims: JointModel, num_samples: int, trials: Sequence[Trial]
) -> OptimumPosterior:
    """Return draws of where the optimum is, and of how much better it is than what is recommended.

    The draws are those of the models for claims (`fit_for_claims`).
    """
    space, rows = model.settings.space, model.front
    optima = claims.draw_optima(num_samples, Seeds(model.settings.seed).optimum(), POINTS)
    regret, volumes, fronts = _left(claims, optima, rows)
    kept = Seeds(model.settings.seed).optimum().permutation(len(regret))[:num_samples]
    present = to_numpy(optima.present).reshape(len(regret), -1)[kept]
    points = to_numpy(optima.x).reshape(*to_numpy(optima.present).reshape(len(regret), -1).shape, -1)[kept][present]
    outputs = {
        name: own.settings.direction.sign * own.scaling.inverse(to_numpy(y).reshape(len(regret), -1)[kept][present])
        for y, (name, own) in zip(optima.values, claims.models.items(), strict=True)
    }
    found = [space.decode(row) for row in points]
    params = {name: [point[name] for point in found] for name in space.parameters}
    groups = () if model.goals.several else optima_groups(points[:GROUPED], space.domain)
    told = recommendations(model, claims)
    if not all(own.scaling.informative for own in model.objectives):
        regret = np.full_like(regret, np.inf)  # of values that are all the same, nothing can be said
    if not model.goals.several:
        return OptimumPosterior(params, regret[kept], told[0], space, groups, outputs=outputs)
    return FrontPosterior(
        params, regret[kept], told[0], space, groups, outputs=outputs, front=pareto(model, claims, trials),
        volumes=volumes[kept], fronts=tuple(_signs(model) * fronts[k] for k in kept[:MOST_FRONTS]),
    )  # fmt: skip


def _left(model: JointModel, optima: Optima, rows: HostArray) -> tuple[HostArray, HostArray, Sequence[HostArray]]:
    """What recommended points (F, d) leave to gain on each draw, and how much there is, in the user's units; (N,).

    Of several objectives, the front of each draw, too.
    """
    J, N = len(model.objectives), len(optima.front)
    here = np.stack([to_numpy(paths(rows)).reshape(N, -1) for paths in optima.paths[:J]], axis=-1)
    holds = np.ones(here.shape[:2], dtype=bool)
    for paths, bound in zip(optima.paths[J:], model.outputs.bounds, strict=True):
        holds &= to_numpy(paths(rows)).reshape(N, -1) >= bound
    if not model.goals.several:
        best = model.heights(optima)
        reached = here[:, 0, 0]
        gained = np.isfinite(best) & (best - reached > ROUNDING * np.maximum(np.abs(reached), 1.0))
        best = np.where(gained, best, reached)
        # Two of the largest floats are too far apart for one.
        half = 0.5 * model.in_values(best[:, None])[:, 0] - 0.5 * model.in_values(reached[:, None])[:, 0]
        return np.where(gained, 2.0 * np.clip(half, 0.0, 0.5 * np.finfo(np.float64).max), 0.0), best, ()
    reference = model.in_values(model.reference[None])[0]
    kept = [model.in_values(own[good]) for own, good in zip(here, holds, strict=True)]
    taken = np.array([hypervolume(values, reference) for values in kept])
    everything = [
        np.concatenate([model.in_values(front), values]) for front, values in zip(optima.front, kept, strict=True)
    ]
    whole = np.array([hypervolume(values, reference) for values in everything])
    return np.maximum(whole - taken, 0.0), whole, [values[nondominated(values)] for values in everything]


def information(model: JointModel, rows: HostArray, pending: HostArray) -> dict[str, HostArray]:
    """Return the information that each output is expected to give at points (m, d), in bits."""
    own = model.settings.strategy.acquisition
    acquisition = PES() if not isinstance(own, PES) else own
    score = JointPES(acquisition.num_samples, settings=acquisition.settings).prepare(
        model.outputs, Seeds(model.settings.seed).information(), pending if len(pending) else None, *model.region
    )
    return dict(zip(model.models, to_numpy(score.by_output(rows)) / math.log(2.0), strict=True))


def explanation(
    model: JointModel, params: Mapping[str, Any], pending: HostArray, diagnostics: Mapping[str, Any]
) -> Explanation:
    """Return why parameters are worth evaluating; `diagnostics` are those of their trial, if they were asked for."""
    row = model.settings.space.encode(params)[None]
    bits = information(model, row, pending)
    outputs = {
        name: Forecast(float(mean[0]), float(sd[0]), float(bits[name][0]))
        for name, (mean, sd) in model.predict_values(row).items()
    }
    first = outputs[next(iter(model.goals.objectives))]
    told = np.concatenate([model.evidence.whole.X, model.evidence.whole.failed])
    return Explanation(
        params=params,
        bits=sum(output.bits or 0.0 for output in outputs.values()),
        mean=first.mean,
        sd=first.sd,
        nearest=float(np.sqrt(np.min(np.sum((told - row) ** 2, axis=1)))),
        exploration=float(max(own.unknown_share(row)[0] for own in model.models.values())),
        feasibility=float(model.feasible(row)[0]),
        method=diagnostics.get("method"),
        fallback=diagnostics.get("fallback"),
        purpose=diagnostics.get("purpose"),
        extrapolated=not all(one.is_plausible(outputs[name].mean) for name, one in model.models.items()),
        shown=shown(model.settings.space, params),
        outputs=outputs,
    )
