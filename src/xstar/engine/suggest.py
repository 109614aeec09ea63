"""The next point: by the method's acquisition, or by the next fallback.

    the method  ->  LogEI  ->  space filling

A method gives way when it fails for a numerical reason or sees nothing worth an evaluation; which one was used, and
why, is in the diagnostics. With too few results, or values that are all the same, points fill the space.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from xstar.acquisition import Acquisition, LogEI
from xstar.engine.cache import Models
from xstar.engine.evidence import Evidence
from xstar.engine.model import Model
from xstar.engine.seeds import Seeds
from xstar.engine.settings import Settings
from xstar.engine.space_filling import allowed, next_of_design, random_point
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.search import Domain, Objective

NUMERICAL = (ArithmeticError, np.linalg.LinAlgError)
"""What a computation raises that has gone wrong for the data's sake; anything else is a mistake in the code."""
FALLBACKS: tuple[tuple[str, Acquisition], ...] = (("logei", LogEI()),)
"""What is tried after the method itself, before points fill the space."""


class Suggestion(NamedTuple):
    """A legal point of the cube, and how it was found."""

    row: HostArray
    diagnostics: dict[str, Any]
    """`method` is what chose the point, `fallback` says why it was not the method asked for; None if it was."""


class _NothingFound(Exception):
    """Why a method gives way to the next."""


def suggest(
    settings: Settings, evidence: Evidence, models: Models, number: int, within: Domain | None = None
) -> Suggestion:
    """Return the point of trial `number`, of all or within a part of the domain.

    Raises
    ------
    SpaceExhausted
        If no point is left that would tell anything new.
    """
    domain = settings.space.domain if within is None else within
    excluded, seeds = evidence.excluded(domain, settings.noise), Seeds(settings.seed, number)
    if settings.strategy.acquisition is None:
        return Suggestion(random_point(settings, domain, excluded, seeds), {"method": "random", "fallback": None})
    why: list[str] = []
    if needs_model(settings, evidence):
        for name, row, outcome in _by_model(settings, evidence, models, domain, excluded, seeds):
            if row is not None:
                return Suggestion(row, {"method": name, "fallback": "; ".join(why) or None, **outcome})
            why.append(outcome["why"])
    row = next_of_design(settings, domain, evidence, excluded, seeds)
    return Suggestion(row, {"method": "space-filling", "fallback": "; ".join(why) or None})


def needs_model(settings: Settings, evidence: Evidence) -> bool:
    """Return whether a suggestion is made by a model: there are results, and the first points are asked for."""
    started = evidence.count > 0 and evidence.under_way >= settings.num_initial
    return started and settings.strategy.acquisition is not None


def _by_model(
    settings: Settings, evidence: Evidence, models: Models, domain: Domain, excluded: frozenset[bytes], seeds: Seeds
) -> Iterator[tuple[str, HostArray | None, dict[str, Any]]]:
    """What each method has found, with its diagnostics; or None, and why."""
    try:
        model = models.model(settings, evidence)
    except NUMERICAL as error:
        yield "model", None, {"why": f"the model could not be fitted: {str(error).rstrip('.')}"}
        return
    if not model.scaling.informative and evidence.count > 1:
        yield "model", None, {"why": "no signal: all values are the same"}
        return
    own = settings.strategy.acquisition
    assert own is not None
    for name, acquisition in ((settings.method_name, own), *(other for other in FALLBACKS if other[1] != own)):
        try:
            row, diagnostics = _maximize(model, acquisition, evidence.pending, domain, excluded, seeds)
            yield name, row, {**diagnostics, **model.diagnostics}
        except _NothingFound as reason:
            yield name, None, {"why": f"{name} {reason}"}
        except NUMERICAL as error:
            yield name, None, {"why": f"{name} failed: {str(error).rstrip('.')}"}


def _maximize(
    model: Model, acquisition: Acquisition, pending: HostArray, domain: Domain, excluded: frozenset[bytes], seeds: Seeds
) -> tuple[HostArray, dict[str, Any]]:
    """The best point of an acquisition, and how it was found."""
    rng = seeds.acquisition()
    score = model.prepare(acquisition, rng, pending)
    diagnostics = dict(score.diagnostics)
    if diagnostics.get("dropped", 0) == diagnostics.get("samples", 1):
        raise _NothingFound("dropped all its samples")
    objective: Objective = score
    if model.feasibility is not None:
        objective = model.feasibility.weigh(score, power=1.0, additive=score.additive)
    around = None if score.starts is None else to_numpy(score.starts)[0]
    row, value = model.maximize(objective, rng, within=domain, excluded=excluded, around=around)
    if not math.isfinite(value):
        raise _NothingFound("found no allowed point with a finite score")
    if not score.additive and value <= 0.0:
        raise _NothingFound("sees nothing left to learn")
    if not _is_likely(row[None], model) and _is_likely(_few_left(domain, excluded, model.settings), model):
        raise _NothingFound("sees something to learn only where evaluations are likely to fail")
    if acquisition.informative:
        nats = float(to_numpy(score(row[None]))[0])
        if nats < model.settings.model.least_information:
            raise _NothingFound("sees nothing left to learn")
        diagnostics["bits"] = nats / math.log(2.0)
    return row, {**diagnostics, "score": value}


def _is_likely(rows: HostArray | None, model: Model) -> bool:
    """Whether an evaluation at any of the points is likely to be feasible; None stands for points without number."""
    if model.feasibility is None or rows is None:
        return True
    return bool(np.any(model.feasibility.is_likely(rows)))


def _few_left(domain: Domain, excluded: frozenset[bytes], settings: Settings) -> HostArray | None:
    """The points that are allowed, if the domain is small."""
    if domain.size is None or domain.size > settings.model.search.max_enumerated:
        return None
    return np.array(list(allowed(domain, domain.everything(), excluded)))
