"""Which points must not be suggested: those where another evaluation would tell nothing new."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from xstar.errors import SpaceExhausted
from xstar.space import Space
from xstar.suggestion import EXHAUSTED
from xstar.trial import Trial


def forbidden(space: Space, trials: Collection[Trial], noise: float | None) -> frozenset[bytes]:
    """The keys of pending points, and of those whose value is known without noise. Raises if there are no others."""

    def keys(wanted: Callable[[Trial], bool]) -> frozenset[bytes]:
        rows = [space.encode(trial.params) for trial in trials if wanted(trial) and space.contains(trial.params)]
        return frozenset(space.domain.keys(np.array(rows).reshape(-1, space.domain.dimension)))

    exact = keys(lambda trial: is_exact(trial, noise))
    pending = keys(lambda trial: trial.state == "pending")
    size = space.domain.size
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
