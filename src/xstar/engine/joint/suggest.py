"""The next point for several outputs: by information about their optimum, or by the next fallback.

    joint PES  ->  expected hypervolume improvement  ->  space filling

As for one output (`engine.suggest`), a balanced method explores, improves or confirms, by the same rule: heights are
posterior means of a single objective, and hypervolumes of several. Until something is likely to be feasible, the turns
to improve look for that.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from xstar.acquisition import EI, PES, JointLogEI, JointPES, LogEI, Prepared, Thompson
from xstar.engine.balance import FEW_OPTIMA, ROUNDING, Outlook, confirms, is_turn_to_improve, is_worthwhile, may_improve
from xstar.engine.fit import NUMERICAL
from xstar.engine.joint.evidence import JointEvidence
from xstar.engine.joint.model import LIKELY, JointModel, JointModels
from xstar.engine.seeds import Seeds
from xstar.engine.settings import Settings
from xstar.engine.space_filling import next_of_design, random_point
from xstar.engine.suggest import NothingFound, Search, Suggestion
from xstar.methods import Balance
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.search import Domain, Objective


def suggest_jointly(
    settings: Settings, evidence: JointEvidence, models: JointModels, number: int, within: Domain | None = None,
    *, last: bool = False, repeat: bool = True,
) -> Suggestion:  # fmt: skip
    """Return the point of trial `number`, as `suggest` does for one output.

    Raises
    ------
    SpaceExhausted
        If no point is left that would tell anything new.
    """
    domain, whole = settings.space.domain if within is None else within, evidence.whole
    excluded, seeds = whole.excluded(domain, settings.noise_of_all, repeat=repeat), Seeds(settings.seed, number)
    if settings.strategy.acquisition is None:
        return Suggestion(random_point(settings, domain, excluded, seeds), {"method": "random", "fallback": None})
    why: list[str] = []
    if whole.count > 0 and whole.under_way >= settings.num_initial:
        if evidence.missing:
            why.append(f"nothing has been told of {', '.join(evidence.missing)} yet")
        else:
            search = Search(domain, excluded, whole, seeds, last)
            for name, row, outcome in _by_model(settings, evidence, models, search):
                if row is not None:
                    return Suggestion(row, {"method": name, "fallback": "; ".join(why) or None, **outcome})
                why.append(outcome["why"])
    row = next_of_design(settings, domain, whole, excluded, seeds)
    return Suggestion(row, {"method": "space-filling", "fallback": "; ".join(why) or None})


def _by_model(
    settings: Settings, evidence: JointEvidence, models: JointModels, search: Search
) -> Iterator[tuple[str, HostArray | None, dict[str, Any]]]:
    """What each method has found, with its diagnostics; or None, and why."""
    model = models.model(settings, evidence)
    failed = [f"of {name}, {own.fallback}" for name, own in model.models.items() if own.fallback is not None]
    if failed:
        yield "model", None, {"why": "; ".join(failed)}
        return
    if evidence.whole.count > 1 and not any(own.scaling.informative for own in model.models.values()):
        yield "model", None, {"why": "no signal: all values are the same"}
        return
    own = settings.strategy.acquisition
    ways = [settings.method_name] if isinstance(own, LogEI | EI) else [settings.method_name, "logei"]
    for name in ways:
        try:
            row, diagnostics = _improved(model, search) if name != settings.method_name else _choose(model, search)
            yield name, row, {**diagnostics, **model.diagnostics}
        except NothingFound as reason:
            yield name, None, {"why": f"{name} {reason}"}
        except NUMERICAL as error:
            yield name, None, {"why": f"{name} failed: {str(error).rstrip('.')}"}


def _choose(model: JointModel, search: Search) -> tuple[HostArray, dict[str, Any]]:
    """The point of the method itself; or, where it is balanced, the one that the suggestion is for."""
    own, balance = model.settings.strategy.acquisition, model.settings.strategy.balance
    if isinstance(own, LogEI | EI):
        return _improved(model, search)
    if isinstance(own, Thompson):
        return _sampled(model, search)
    assert isinstance(own, PES), "other acquisitions are for one output (`Settings.check`)"
    return _explored(model, own, search, None) if balance is None else _balanced(model, own, balance, search)


def _balanced(model: JointModel, own: PES, balance: Balance, search: Search) -> tuple[HostArray, dict[str, Any]]:
    """The point of what the suggestion is for: to confirm, to improve, or to explore."""
    tested = _tested_means(model, search)
    if search.last and (confirmed := _confirm(model, search, tested)) is not None:
        return confirmed
    if is_turn_to_improve(balance, search.seeds.number):
        # What goes wrong with an improvement is no reason not to explore.
        with contextlib.suppress(NothingFound, *NUMERICAL):
            improved = _improve(model, balance, tested, search)
            if improved is not None:
                return improved
    try:
        return _explored(model, own, search, balance)
    except NothingFound:
        if not model.seeking:
            raise
        # Where nothing is feasible on any draw, there is no optimum to learn of yet.
        row, diagnostics = _improved(model, search)
        return row, {**diagnostics, "purpose": "feasible"}


def _tested_means(model: JointModel, search: Search) -> HostArray:
    """Posterior means (n, J) at points that were evaluated, or are pending, and are likely to be feasible."""
    pending = search.evidence.pending[search.evidence.legal_pending]
    likely = pending[model.feasible(pending) >= LIKELY] if len(pending) else pending
    return model.means(np.concatenate([model.tested, likely]))


def _improve(
    model: JointModel, balance: Balance, tested: HostArray, search: Search
) -> tuple[HostArray, dict[str, Any]] | None:
    """The point that improves most on what was tested, if it is expected to gain enough; or is most feasible."""
    if model.seeking:
        row, diagnostics = _improved(model, search)
        return row, {**diagnostics, "purpose": "feasible"}
    rng, height = search.seeds.acquisition(), np.array([model.height(tested)])
    drawn = model.heights(model.draw_optima(FEW_OPTIMA, rng))
    optimum = np.array([drawn[np.isfinite(drawn)].mean()]) if np.isfinite(drawn).any() else height
    if not may_improve(balance, height, optimum, np.array([model.noise]))[0]:
        return None
    row, diagnostics = _improved(model, search)
    expected = np.array([math.exp(diagnostics["score"])])
    if not is_worthwhile(balance, expected, height, optimum)[0]:
        return None
    return row, {**diagnostics, "purpose": "improve"}


def _improved(model: JointModel, search: Search) -> tuple[HostArray, dict[str, Any]]:
    """The point of the largest expected hypervolume improvement, or of the largest probability of feasibility."""
    pending = search.evidence.pending
    front = _tested_means(model, search)
    score = JointLogEI().prepare(
        model.outputs, front, model.reference if model.goals.several else np.array([-math.inf]),
        pending if len(pending) else None,
    )  # fmt: skip
    return _maximize(model, score, search, model.tested[-1:])


def _sampled(model: JointModel, search: Search) -> tuple[HostArray, dict[str, Any]]:
    """A point of one sampled optimum."""
    rng = search.seeds.acquisition()
    optima = model.draw_optima(1, rng)
    H = optima.x.shape[1]
    h = int(rng.integers(H))
    there = np.flatnonzero(to_numpy(optima.present)[0, h, 0])
    rows = search.domain.snap(to_numpy(optima.x)[0, h, 0][rng.permutation(there)])
    allowed = rows[search.allows(rows)]
    if not len(allowed):
        raise NothingFound("has sampled a point that may not be evaluated again")
    return allowed[0], {}


def _explored(model: JointModel, own: PES, search: Search, balance: Balance | None) -> tuple[HostArray, dict[str, Any]]:
    """The point that tells most; or a point of the recommendation that is known to gain more than may be left."""
    pending, rng = search.evidence.pending, search.seeds.acquisition()
    acquisition = JointPES(
        num_samples=own.num_samples, num_features=own.num_features, num_competitors=own.num_competitors,
        settings=own.settings,
    )  # fmt: skip
    score = acquisition.prepare(model.outputs, rng, pending if len(pending) else None, *model.region)
    if score.diagnostics["dropped"] == score.diagnostics["samples"]:
        raise NothingFound("dropped all its samples")
    known: dict[str, Any] = {}
    if balance is not None:
        known = {"purpose": "explore"}
        drawn = model.heights(score.score.optima)
        tested = _tested_means(model, search)
        if np.isfinite(drawn).any():
            rows = model.front_within(search.domain)
            best = np.array([max(model.height(np.concatenate([tested, model.means(rows)])), model.height(tested))])
            outlook = Outlook(np.array([model.height(tested)]), best, np.array([drawn[np.isfinite(drawn)].mean()]))
            if confirms(balance, outlook)[0] and (row := _largest_gain(model, rows, tested, search)) is not None:
                return row, {**score.diagnostics, **_bits(model, score, row), "purpose": "confirm"}
    around = to_numpy(score.starts)[0] if score.starts is not None else None
    row, diagnostics = _maximize(model, score, search, around)
    if diagnostics["score"] < model.settings.model.least_information:
        raise NothingFound("sees nothing left to learn")
    return row, {**score.diagnostics, **diagnostics, **_bits(model, score, row), **known}


def _confirm(model: JointModel, search: Search, tested: HostArray) -> tuple[HostArray, dict[str, Any]] | None:
    """The point of the recommendation that gains most on what was tested, if there is such."""
    row = _largest_gain(model, model.front_within(search.domain), tested, search)
    return None if row is None else (row, {"purpose": "confirm"})


def _largest_gain(model: JointModel, rows: HostArray, tested: HostArray, search: Search) -> HostArray | None:
    """Of points that are likely to be feasible and may be evaluated, the one that raises the height most."""
    rows = rows[search.allows(rows)]
    rows = rows[model.feasible(rows) >= LIKELY] if len(rows) else rows
    if not len(rows):
        return None
    before, means = model.height(tested), model.means(rows)
    after = np.array([model.height(np.concatenate([tested, mean[None]])) for mean in means])
    best = int(np.argmax(after))
    return rows[best] if after[best] > before + ROUNDING else None


def _maximize(
    model: JointModel, score: Prepared, search: Search, around: HostArray | None
) -> tuple[HostArray, dict[str, Any]]:
    """The best point of a score."""
    objective: Objective = score
    if model.feasibility is not None:
        objective = model.feasibility.weigh(score, power=1.0, additive=score.additive)
    row, value = model.maximize(
        objective, search.seeds.acquisition(), within=search.domain, excluded=search.excluded, around=around
    )
    if not math.isfinite(value):
        raise NothingFound("found no allowed point with a finite score")
    if not score.additive and value <= 0.0:
        raise NothingFound("sees nothing left to learn")
    return row, {"score": value}


def _bits(model: JointModel, score: Any, row: HostArray) -> dict[str, Any]:
    """The information that a point is expected to give, of all outputs and of each."""
    each = to_numpy(score.by_output(row[None]))[:, 0] / math.log(2.0)
    return {"bits": float(each.sum()), "bits_by_output": dict(zip(model.models, each.tolist(), strict=True))}
