"""Points that are chosen without a model: the first ones, and what is left when every method has given up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from xstar.engine.evidence import EXHAUSTED, Evidence
from xstar.engine.seeds import Seeds
from xstar.engine.settings import Settings
from xstar.errors import SpaceExhausted
from xstar.feasibility import Feasibility
from xstar.numerics.arrays import HostArray
from xstar.numerics.designs import sobol
from xstar.search import Domain, Points


def next_of_design(settings: Settings, domain: Domain, evidence: Evidence, excluded: Points, seeds: Seeds) -> HostArray:
    """Return the next free point of a Sobol sequence; after failures, one that is likely to be feasible."""
    own = settings.model
    count = 2 ** math.ceil(math.log2(seeds.number + own.lookahead))
    design = domain.spread(sobol(count, len(domain.blocks), seeds.design()))[seeds.number :]
    # A point of the design may have been taken before its turn.
    taken = Points(domain, np.concatenate([evidence.X, evidence.failed, evidence.pending]))
    rows = itertools.chain(allowed(design, excluded | taken), allowed(design, excluded))
    picked = list(itertools.islice(rows, own.lookahead // 2 if len(evidence.failed) else 1))
    if not picked:
        return _any_allowed(domain, excluded, seeds)
    if not len(evidence.failed):
        return picked[0]
    feasibility = Feasibility.fit(evidence.X, evidence.failed, domain, own.feasibility)
    log_probability = feasibility.log_probability(np.array(picked))
    return picked[int(np.argmax(log_probability > np.max(log_probability) - own.feasible_enough))]


def random_point(settings: Settings, domain: Domain, excluded: Points, seeds: Seeds) -> HostArray:
    """Return a uniformly drawn point."""
    draws = domain.spread(seeds.acquisition().random((settings.model.lookahead, len(domain.blocks))))
    row = next(allowed(draws, excluded), None)
    return _any_allowed(domain, excluded, seeds) if row is None else row


def allowed(rows: HostArray, excluded: Points) -> Iterator[HostArray]:
    """Yield the rows that are not excluded."""
    return iter(rows[~excluded.has(rows)])


def _any_allowed(domain: Domain, excluded: Points, seeds: Seeds) -> HostArray:
    """A point that is not excluded, by counting from a random one: at most as many steps as points are excluded."""
    size = domain.size
    if size is None:
        return domain.spread(seeds.acquisition().random(len(domain.blocks)))
    start = int(seeds.acquisition().random() * size)
    for step in range(min(size, len(excluded) + 1)):
        row = domain.at((start + step) % size)
        if not excluded.has(row[None])[0]:
            return row
    raise SpaceExhausted(EXHAUSTED.format(size))
