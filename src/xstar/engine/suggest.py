"""The next point: by the method's acquisition, or by the next fallback.

    the method  ->  LogEI  ->  space filling

Where the method is balanced, its own turn is an exploration, an improvement or a confirmation (`engine.balance`).
A method gives way when it fails for a numerical reason or sees nothing worth an evaluation; which one was used, and
why, is in the diagnostics. With too few results, or values that are all the same, points fill the space.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from xstar.acquisition import Acquisition, LogEI, Prepared
from xstar.engine.balance import FEW_OPTIMA, ROUNDING, Outlook, confirms, is_turn_to_improve, is_worthwhile, may_improve
from xstar.engine.cache import Models
from xstar.engine.evidence import Evidence
from xstar.engine.fit import NUMERICAL
from xstar.engine.model import Model
from xstar.engine.seeds import Seeds
from xstar.engine.settings import Settings
from xstar.engine.space_filling import allowed, next_of_design, random_point
from xstar.methods import Balance
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.search import Domain, Objective, Points

FALLBACKS: tuple[tuple[str, Acquisition], ...] = (("logei", LogEI()),)
"""What is tried after the method itself, before points fill the space."""


class Suggestion(NamedTuple):
    """A legal point of the cube, and how it was found."""

    row: HostArray
    diagnostics: dict[str, Any]
    """`method` is what chose the point, `fallback` says why it was not the method asked for; None if it was."""


class NothingFound(Exception):
    """Why a method gives way to the next."""


class Search(NamedTuple):
    """Where the next point is looked for, and with which random numbers."""

    domain: Domain
    excluded: Points
    evidence: Evidence
    seeds: Seeds
    last: bool

    def allows(self, rows: HostArray) -> HostArray:
        """Return at which legal points (m, d) another evaluation would tell anything new."""
        return ~self.excluded.has(rows)


def suggest(
    settings: Settings, evidence: Evidence, models: Models, number: int, within: Domain | None = None,
    *, last: bool = False, repeat: bool = True,
) -> Suggestion:  # fmt: skip
    """Return the point of trial `number`, of all or within a part of the domain.

    The `last` evaluation of a run is that of the best posterior mean, if it is above all that was tested. What was
    evaluated is suggested again only if `repeat` says so.

    Raises
    ------
    SpaceExhausted
        If no point is left that would tell anything new.
    """
    domain = settings.space.domain if within is None else within
    excluded, seeds = evidence.excluded(domain, settings.noise, repeat=repeat), Seeds(settings.seed, number)
    if settings.strategy.acquisition is None:
        return Suggestion(random_point(settings, domain, excluded, seeds), {"method": "random", "fallback": None})
    why: list[str] = []
    if needs_model(settings, evidence):
        search = Search(domain, excluded, evidence, seeds, last)
        for name, row, outcome in _by_model(settings, evidence, models, search):
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
    settings: Settings, evidence: Evidence, models: Models, search: Search
) -> Iterator[tuple[str, HostArray | None, dict[str, Any]]]:
    """What each method has found, with its diagnostics; or None, and why."""
    model = models.model(settings, evidence)
    if model.fallback is not None:
        yield "model", None, {"why": model.fallback}
        return
    if not model.scaling.informative and evidence.count > 1:
        yield "model", None, {"why": "no signal: all values are the same"}
        return
    own = settings.strategy.acquisition
    assert own is not None
    for name, acquisition in ((settings.method_name, own), *(other for other in FALLBACKS if other[1] != own)):
        try:
            row, diagnostics = _choose(model, acquisition, search)
            yield name, row, {**diagnostics, **model.diagnostics, **model.prediction(row).as_diagnostics()}
        except NothingFound as reason:
            yield name, None, {"why": f"{name} {reason}"}
        except NUMERICAL as error:
            yield name, None, {"why": f"{name} failed: {str(error).rstrip('.')}"}


def _choose(model: Model, acquisition: Acquisition, search: Search) -> tuple[HostArray, dict[str, Any]]:
    """The point of an acquisition; or, where it is balanced, the one that the suggestion is for."""
    rng, balance = search.seeds.acquisition(), model.settings.strategy.balance
    if balance is None:
        return _maximize(model, acquisition, _prepare(model, acquisition, search, rng), search, rng)
    if search.last and (confirmed := _confirm(model, search)) is not None:
        return confirmed
    if not acquisition.samples_maxima:
        return _maximize(model, acquisition, _prepare(model, acquisition, search, rng), search, rng)
    tested = _best_tested(model, search.evidence)
    if is_turn_to_improve(balance, search.seeds.number):
        # What goes wrong with an improvement is no reason not to explore.
        with contextlib.suppress(NothingFound, *NUMERICAL):
            improved = _improve(model, balance, tested, search, rng)
            if improved is not None:
                return improved
    score = _prepare(model, acquisition, search, rng)
    best = model.best_within(search.domain)
    maxima = score.sampled_maxima
    assert maxima is not None, "of an acquisition that samples maxima"
    outlook = Outlook(tested, model.mean(best[None]), to_numpy(maxima).mean(axis=1))
    known = {
        "gain": model.in_values(tested, outlook.best),
        "left": model.in_values(tested, np.maximum.reduce([outlook.optimum, outlook.best, tested])),
    }
    if confirms(balance, outlook)[0] and search.allows(best[None])[0]:
        return best, {**score.diagnostics, **_bits(acquisition, score, best), "purpose": "confirm", **known}
    row, diagnostics = _maximize(model, acquisition, score, search, rng)
    return row, {**diagnostics, "purpose": "explore", **known}


def _improve(
    model: Model, balance: Balance, tested: HostArray, search: Search, rng: np.random.Generator
) -> tuple[HostArray, dict[str, Any]] | None:
    """The point of LogEI, if it is expected to gain enough."""
    optimum = model.sampled_maxima(FEW_OPTIMA, rng).mean(keepdims=True)
    if not may_improve(balance, tested, optimum, model.noise)[0]:
        return None
    acquisition = LogEI()
    score = _prepare(model, acquisition, search, rng)
    row, diagnostics = _maximize(model, acquisition, score, search, rng)
    expected = np.exp(to_numpy(score(row[None]))) * model.feasible(row[None])
    if not is_worthwhile(balance, expected, tested, optimum)[0]:
        return None
    return row, {**diagnostics, "purpose": "improve", "left": model.in_values(tested, optimum)}


def _prepare(model: Model, acquisition: Acquisition, search: Search, rng: np.random.Generator) -> Prepared:
    score = model.prepare(acquisition, rng, search.evidence.pending)
    if score.diagnostics.get("dropped", 0) == score.diagnostics.get("samples", 1):
        raise NothingFound("dropped all its samples")
    return score


def _confirm(model: Model, search: Search) -> tuple[HostArray, dict[str, Any]] | None:
    """The best point, if it is better than what was tested and may be evaluated."""
    best, tested = model.best_within(search.domain), _best_tested(model, search.evidence)
    height = model.mean(best[None])
    if height[0] - tested[0] <= ROUNDING or not search.allows(best[None])[0]:
        return None
    return best, {"purpose": "confirm", "gain": model.in_values(tested, height)}


def _best_tested(model: Model, evidence: Evidence) -> HostArray:
    """The largest posterior mean (1,) at a legal point that has been evaluated, or is pending; -inf without any."""
    pending = evidence.pending[evidence.legal_pending]
    rows = pending if model.tested_row is None else np.concatenate([model.tested_row[None], pending])
    return model.mean(rows).max(keepdims=True) if len(rows) else np.array([-math.inf])


def _maximize(
    model: Model, acquisition: Acquisition, score: Prepared, search: Search, rng: np.random.Generator
) -> tuple[HostArray, dict[str, Any]]:
    """The best point of an acquisition, and how it was found."""
    objective: Objective = score
    if model.feasibility is not None:
        objective = model.feasibility.weigh(score, power=1.0, additive=score.additive)
    around = None if score.starts is None else to_numpy(score.starts)[0]
    row, value = model.maximize(objective, rng, within=search.domain, excluded=search.excluded, around=around)
    if not math.isfinite(value):
        raise NothingFound("found no allowed point with a finite score")
    if not score.additive and value <= 0.0:
        raise NothingFound("sees nothing left to learn")
    if not _is_likely(row[None], model) and _is_likely(
        _few_left(search.domain, search.excluded, model.settings), model
    ):
        raise NothingFound("sees something to learn only where evaluations are likely to fail")
    told = _bits(acquisition, score, row)
    if told and told["bits"] * math.log(2.0) < model.settings.model.least_information:
        raise NothingFound("sees nothing left to learn")
    return row, {**score.diagnostics, **told, "score": value}


def _bits(acquisition: Acquisition, score: Prepared, row: HostArray) -> dict[str, float]:
    """The information that a point is expected to give, if the acquisition measures it."""
    return {"bits": float(to_numpy(score(row[None]))[0]) / math.log(2.0)} if acquisition.informative else {}


def _is_likely(rows: HostArray | None, model: Model) -> bool:
    """Whether an evaluation at any of the points is likely to be feasible; None stands for points without number."""
    if model.feasibility is None or rows is None:
        return True
    return bool(np.any(model.feasibility.is_likely(rows)))


def _few_left(domain: Domain, excluded: Points, settings: Settings) -> HostArray | None:
    """The points that are allowed, if the domain is small."""
    if domain.size is None or domain.size > settings.model.search.max_enumerated:
        return None
    return np.array(list(allowed(domain.everything(), excluded)))
