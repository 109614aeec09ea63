"""Which points must not be suggested: those where another evaluation would tell nothing new."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from xstar.errors import SpaceExhausted
from xstar.search import Domain
from xstar.space import Space
from xstar.suggestion import EXHAUSTED
from xstar.trial import Trial


def forbidden(
    space: Space, trials: Collection[Trial], noise: float | None, within: Domain | None = None
) -> frozenset[bytes]:
    """The keys of pending points, and of those whose value is known without noise. Raises if there are no others.

    `within` is the part of the space that is searched, with keys of its own.
    """
    domain = space.domain if within is None else within

    def keys(wanted: Callable[[Trial], bool]) -> frozenset[bytes]:
        encoded = [space.encode(trial.params) for trial in trials if wanted(trial) and space.contains(trial.params)]
        rows = np.array(encoded).reshape(-1, domain.dimension)
        if within is not None:
            rows = rows[np.all(np.abs(within.snap(rows) - rows) < 1e-9, axis=1)]
        return frozenset(domain.keys(rows))

    exact = keys(lambda trial: is_exact(trial, noise))
    pending = keys(lambda trial: trial.state == "pending")
    size = domain.size
    if size is None or len(exact | pending) < size:
        return exact | pending
    if noise == 0.0 or len(exact) == size:
        raise SpaceExhausted(EXHAUSTED.format(size))
    # With noise, repeating a pending point is better than nothing.
    return exact


def is_exact(trial: Trial, noise: float | None) -> bool:
    """Whether another evaluation there would tell nothing new; `noise` is that of values without one of their own."""
    noiseless = noise == 0.0
    known = trial.state == "done" and (trial.sd == 0.0 or (noiseless and trial.sd is None))
    return known or (trial.state == "failed" and noiseless)
