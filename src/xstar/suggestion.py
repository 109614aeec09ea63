"""The next point: the method's acquisition, or the next rung below it.

    the method  ->  LogEI  ->  space filling

A rung is left when it fails for a numerical reason or sees nothing worth an evaluation; which one was used, and why, is
in the diagnostics. With too few results, or values that are all the same, points fill the space.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from xstar.acquisition import PES, Acquisition, LogEI, Score
from xstar.acquisition.weighed import Weighed
from xstar.entropy.success import Success
from xstar.errors import SettingsError, SpaceExhausted
from xstar.gp import Matern52
from xstar.model import Evidence, Model
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.numerics.designs import sobol
from xstar.search import Domain
from xstar.search.mixed import COMPLETE

NUMERICAL = (ArithmeticError, ValueError, np.linalg.LinAlgError)
"""What a computation that has gone wrong raises."""


class Suggestion(NamedTuple):
    """A legal point of the cube, and how it was found."""

    row: HostArray
    diagnostics: dict[str, Any]


def suggest(
    model: Model, acquisition: Acquisition, name: str, domain: Domain, forbidden: frozenset[bytes], seeds: Seeds
) -> Suggestion:
    """The best point of a domain, the model's or a part of it, by the acquisition or by a simpler one."""
    if not model.scaling.informative and model.evidence.count > 1:
        return space_filling(domain, model.evidence, forbidden, seeds, "no signal: all values are the same")
    rungs = [(name, acquisition)] + ([] if isinstance(acquisition, LogEI) else [("logei", LogEI())])
    why: str | None = None
    for rung, candidate in rungs:
        try:
            row, diagnostics = _maximize(model, candidate, domain, forbidden, seeds)
        except SettingsError:
            raise
        except NUMERICAL as error:
            row, diagnostics = None, {"why": f"failed: {str(error).rstrip('.')}"}
        if row is not None:
            return Suggestion(row, {"rung": rung, "why": why, **diagnostics})
        why = f"{why}; " * (why is not None) + f"{rung} {diagnostics['why']}"
    return space_filling(domain, model.evidence, forbidden, seeds, why)


def _maximize(
    model: Model, acquisition: Acquisition, domain: Domain, forbidden: frozenset[bytes], seeds: Seeds
) -> tuple[HostArray | None, dict[str, Any]]:
    """The best point, or None and why there is none."""
    rng = seeds.acquisition()
    score = model.prepare(acquisition, rng)
    diagnostics = dict(score.diagnostics)
    if diagnostics.get("dropped", 0) == diagnostics.get("samples", 1):
        return None, {"why": "dropped all its samples"}
    weighed = score if model.success is None else Weighed(score, model.success, power=1.0)
    around = _sampled_maxima(score, domain)
    row, value = model.maximize(weighed, rng, within=domain, forbidden=forbidden, around=around)
    if not math.isfinite(value):
        return None, {"why": "found no allowed point with a finite score"}
    if not score.additive and value <= 0.0:
        return None, {"why": "sees nothing left to learn"}
    if not _is_likely(row[None], model) and _is_likely(_few_left(domain, forbidden), model):
        return None, {"why": "sees something to learn only where evaluations are likely to fail"}
    if isinstance(acquisition, PES):
        nats = float(to_numpy(score(row[None]))[0])
        if nats < LEAST_INFORMATION:
            return None, {"why": "sees nothing left to learn"}
        diagnostics["bits"] = nats / math.log(2.0)
    return row, {**diagnostics, "score": value}


def _is_likely(rows: HostArray | None, model: Model) -> bool:
    """Whether an evaluation at any of the points is likely to succeed; None stands for points without number."""
    if model.success is None or rows is None:
        return True
    return bool(np.any(model.success.log_probability(rows) >= model.success.floor - SLACK))


def _few_left(domain: Domain, forbidden: frozenset[bytes]) -> HostArray | None:
    """The points that are allowed, if the domain is small."""
    if domain.size is None or domain.size > COMPLETE:
        return None
    return np.array(list(_allowed(domain, domain.everything(), forbidden)))


SLACK = 0.05
"""How far below the floor the logarithm of the chance of success may be."""
LEAST_INFORMATION = 1e-9
"""In nats: an evaluation that is expected to tell less tells nothing."""


def _sampled_maxima(score: Score, domain: Domain) -> HostArray | None:
    """Where an entropy search expects maxima is where it may find its own."""
    drawn = getattr(score, "maximizers", None)
    return None if drawn is None else to_numpy(drawn.x).reshape(-1, domain.dimension)


class Seeds(NamedTuple):
    """Every random number of suggestion `number` of a study with this seed."""

    seed: int
    number: int

    def design(self) -> np.random.Generator:
        """The same for all suggestions of a study: they are points of one design."""
        return np.random.default_rng([self.seed, 0])

    def inference(self) -> np.random.Generator:
        """The same for all suggestions, so that those without new data between them share a model."""
        return np.random.default_rng([self.seed, 1])

    def acquisition(self) -> np.random.Generator:
        """For draws that suggestions should not share."""
        return np.random.default_rng([self.seed, 2, self.number])


def space_filling(
    domain: Domain, evidence: Evidence, forbidden: frozenset[bytes], seeds: Seeds, why: str | None
) -> Suggestion:
    """The next free point of a Sobol sequence; after failures, one that is likely to succeed."""
    count = 2 ** math.ceil(math.log2(seeds.number + LOOKAHEAD))
    design = domain.spread(sobol(count, len(domain.blocks), seeds.design()))[seeds.number :]
    # A point of the design may have been taken before its turn.
    taken = domain.keys(np.concatenate([evidence.X, evidence.failed, evidence.pending]))
    rows = itertools.chain(_allowed(domain, design, forbidden.union(taken)), _allowed(domain, design, forbidden))
    picked = list(itertools.islice(rows, LOOKAHEAD // 2 if len(evidence.failed) else 1))
    if not picked:
        picked = [_any_allowed(domain, forbidden, seeds)]
    best = 0
    if len(evidence.failed):
        chance = Success.fit(Matern52(), evidence.X, evidence.failed, domain).log_probability(np.array(picked))
        best = int(np.argmax(chance > np.max(chance) - GOOD_ENOUGH))
    return Suggestion(picked[best], {"rung": "space-filling", "why": why})


LOOKAHEAD = 64
"""Points of the design that are looked at when the next ones are taken."""
GOOD_ENOUGH = 0.2
"""The first point is taken whose log chance of success is this close to the best."""


def random_point(domain: Domain, forbidden: frozenset[bytes], seeds: Seeds) -> Suggestion:
    """A uniformly drawn point."""
    draws = domain.spread(seeds.acquisition().random((LOOKAHEAD, len(domain.blocks))))
    row = next(_allowed(domain, draws, forbidden), None)
    row = _any_allowed(domain, forbidden, seeds) if row is None else row
    return Suggestion(row, {"rung": "random", "why": None})


def _allowed(domain: Domain, rows: HostArray, forbidden: frozenset[bytes]) -> Iterator[HostArray]:
    return (row for row, key in zip(rows, domain.keys(rows), strict=True) if key not in forbidden)


def _any_allowed(domain: Domain, forbidden: frozenset[bytes], seeds: Seeds) -> HostArray:
    """A point that is not forbidden, by counting from a random one: at most as many steps as points are forbidden."""
    size = domain.size
    if size is None:
        return domain.spread(seeds.acquisition().random(len(domain.blocks)))
    start = int(seeds.acquisition().random() * size)
    for step in range(min(size, len(forbidden) + 1)):
        row = domain.at((start + step) % size)
        if domain.keys(row[None])[0] not in forbidden:
            return row
    raise SpaceExhausted(EXHAUSTED.format(size))


EXHAUSTED = (
    "all {} points of the space have been evaluated or are pending, and without noise there is nothing new to learn "
    "from another evaluation. recommend() has the best point; widen the space to go on."
)
