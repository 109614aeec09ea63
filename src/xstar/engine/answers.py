"""What a model says, in the user's units: the recommendation, where the optimum is, why a point is worth evaluating.

How much each parameter matters is in `importance`, how well values are predicted in `calibration`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from xstar.acquisition import PES
from xstar.beliefs import OptimumPosterior
from xstar.engine.model import Model
from xstar.engine.scaling import LARGEST
from xstar.engine.seeds import Seeds
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.numerics.groups import groups_of
from xstar.search.domain import Choice, Domain, Interval
from xstar.space import Space
from xstar.trial import Explanation, Recommendation

GROUPED = 400
"""Sampled optima among which groups are looked for, at most."""
ROUNDING = 1e-12
"""Of a path's value: what is less is no gain."""


def recommendation(model: Model, claims: Model, part: Domain | None = None) -> Recommendation:
    """Return the point with the best posterior mean, or the best tested one where that is as good as known.

    Of a part of the domain, it is the best posterior mean alone.
    """
    return _recommendation(model, claims, model.recommended_row if part is None else model.best_within(part))


def best_tested(model: Model, claims: Model, part: Domain | None = None) -> Recommendation | None:
    """Return the point with the best posterior mean among those evaluated; None if none of them is legal."""
    row = model.tested_row if part is None else model.tested_within(part)
    return None if row is None else _recommendation(model, claims, row)


def _recommendation(model: Model, claims: Model, row: HostArray) -> Recommendation:
    mean, _ = model.predict_values(row[None])
    sd = sd_about(mean, *claims.predict_values(row[None]))
    params = model.settings.space.decode(row)
    return Recommendation(
        params,
        float(mean[0]),
        float(sd[0]),
        float(model.feasible(row[None])[0]),
        model.evidence.was_tested(row),
        not model.is_plausible(float(mean[0])),
        shown(model.settings.space, params),
    )


def shown(space: Space, params: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters as people write them."""
    return {name: parameter.show(params[name]) for name, parameter in space.parameters.items()}


def sd_about(mean: HostArray, center: HostArray, sd: HostArray) -> HostArray:
    """Return how far values with this center and sd are from a mean, in root mean square."""
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(np.hypot(sd, center - mean), LARGEST))


def optimum_posterior(model: Model, claims: Model, num_samples: int) -> OptimumPosterior:
    """Return draws of where the optimum is, and of how much better it is than the recommendation.

    What is recommended is the model's; what is claimed of it is said by the model for claims (`fit_for_claims`).
    """
    space, rng = model.settings.space, Seeds(model.settings.seed).optimum()
    rows, best, here = claims.sample_optima(num_samples, model.recommended_row, rng)
    gained = best - here > ROUNDING * np.maximum(np.abs(best), 1.0)
    # Two of the largest floats are too far apart for one.
    half = 0.5 * claims.scaling.inverse(best) - 0.5 * claims.scaling.inverse(here)
    regret = np.where(gained, 2.0 * np.clip(half, 0.0, 0.5 * LARGEST), 0.0)
    if not model.scaling.informative:
        regret = np.full_like(regret, np.inf)  # of values that are all the same, nothing can be said
    points = [space.decode(row) for row in rows]
    params = {name: [point[name] for point in points] for name in space.parameters}
    return OptimumPosterior(
        params, regret, recommendation(model, claims), space, optima_groups(rows[:GROUPED], space.domain)
    )


def optima_groups(rows: HostArray, domain: Domain) -> tuple[tuple[int, ...], ...]:
    """Return which sampled optima (N, d) are close together, whatever their choices."""
    ordered = [(columns, block) for block, columns in zip(domain.blocks, domain.columns, strict=True)
               if not isinstance(block, Choice)]  # fmt: skip
    points = np.concatenate([rows[:, :0], *(rows[:, columns] for columns, _ in ordered)], axis=1)
    steps = np.array([0.0 if isinstance(block, Interval) else 1.0 / block.levels for _, block in ordered])
    return groups_of(points, steps)


def information(model: Model, rows: HostArray, pending: HostArray) -> HostArray:
    """Return the expected information at points (m, d) in bits, by the method's own acquisition or by the default."""
    own = model.settings.strategy.acquisition
    acquisition = own if own is not None and own.informative else PES()
    score = model.prepare(acquisition, Seeds(model.settings.seed).information(), pending)
    return to_numpy(score(rows)) / math.log(2.0)


def explanation(
    model: Model, params: Mapping[str, Any], pending: HostArray, diagnostics: Mapping[str, Any]
) -> Explanation:
    """Return why parameters are worth evaluating; `diagnostics` are those of their trial, if they were asked for."""
    row = model.settings.space.encode(params)[None]
    mean, sd = model.predict_values(row)
    told = np.concatenate([model.evidence.X, model.evidence.failed])
    gap = np.sqrt(np.min(np.sum((told - row) ** 2, axis=1)))
    return Explanation(
        params=params,
        bits=float(information(model, row, pending)[0]),
        mean=float(mean[0]),
        sd=float(sd[0]),
        nearest=float(gap),
        exploration=float(model.unknown_share(row)[0]),
        feasibility=float(model.feasible(row)[0]),
        method=diagnostics.get("method"),
        fallback=diagnostics.get("fallback"),
        purpose=diagnostics.get("purpose"),
        gain=diagnostics.get("gain"),
        left=diagnostics.get("left"),
        extrapolated=not model.is_plausible(float(mean[0])),
        shown=shown(model.settings.space, params),
    )
