"""What trials say, as rows of the unit cube: the only place where results are encoded.

Rows are sorted before anything is computed from them, so that the order in which results were told changes nothing.
Values are those of a maximization from here on: a minimization's have changed their sign.

Notation
    X         told points in the unit cube, maybe outside it          (n, d)
    values    their values, larger is better                          (n,)
    sd        their noise, NaN where it is to be learned              (n,)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from xstar.engine.settings import Settings
from xstar.errors import SpaceExhausted
from xstar.numerics.arrays import HostArray
from xstar.search import SAME_POINT, Domain, Points
from xstar.trial import Trial

EXHAUSTED = (
    "all {} points of the space have been evaluated or are pending, and without noise there is nothing new to learn "
    "from another evaluation. recommend() has the best point; widen the space to go on."
)


@dataclass(frozen=True)
class Evidence:
    """All that the trials say, in an order of its own."""

    X: HostArray
    values: HostArray
    sd: HostArray
    legal: HostArray
    """Which rows of X are legal points, shape (n,)."""
    failed: HostArray
    legal_failed: HostArray
    pending: HostArray
    legal_pending: HostArray

    @property
    def count(self) -> int:
        """n."""
        return len(self.values)

    @property
    def under_way(self) -> int:
        """Evaluations with a result, failed or pending."""
        return self.count + len(self.failed) + len(self.pending)

    def same_results(self, other: Evidence) -> bool:
        """Whether both say the same; pending points may differ."""
        pairs = ((self.X, other.X), (self.values, other.values), (self.sd, other.sd), (self.failed, other.failed))
        return all(np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in pairs)

    def was_tested(self, row: HostArray) -> bool:
        """Return whether a point (d,) has been evaluated."""
        return bool(np.any(np.all(np.abs(self.X - row) < SAME_POINT, axis=1)))

    def excluded(self, domain: Domain, noise: float | None, *, repeat: bool = True) -> Points:
        """Return the points of a domain where another evaluation would tell nothing new.

        These are pending points and those whose value is known without noise; failures, too, if nothing is noisy; and
        all that were evaluated, if none is to be repeated. The domain is that of the space, or a part of it.

        Raises
        ------
        SpaceExhausted
            If there are no others.
        """
        final = noise == 0.0 or not repeat
        known = self.X[self.legal & ((self.sd == 0.0) | (not repeat))]
        failed = self.failed[self.legal_failed] if final else self.failed[:0]
        exact = Points(domain, np.concatenate([known, failed]))
        both = exact | Points(domain, self.pending[self.legal_pending])
        size = domain.size
        if size is None or len(both) < size:
            return both
        if final or len(exact) == size:
            raise SpaceExhausted(EXHAUSTED.format(size))
        # With noise, repeating a pending point is better than nothing.
        return exact


def noise_of(trial: Trial, noise: float | None) -> float:
    """Return the standard deviation of a trial's value: its own, or else `noise`; NaN if it is to be learned."""
    if trial.sd is not None:
        return trial.sd
    return math.nan if noise is None else noise


def gather(settings: Settings, trials: Iterable[Trial]) -> Evidence:
    """Return the evidence of trials; withdrawn ones have none."""
    space, sign = settings.space, settings.direction.sign
    rows: dict[str, list[tuple[float, ...]]] = {"done": [], "failed": [], "pending": []}
    for trial in trials:
        if trial.state == "withdrawn":
            continue
        row = (*space.encode(trial.params).tolist(), float(space.contains(trial.params)))
        if trial.state == "done" and trial.value is not None:
            row = (*row, sign * trial.value, noise_of(trial, settings.noise))
        rows[trial.state].append(row)
    d = space.domain.dimension
    done = np.array(sorted(rows["done"], key=_order)).reshape(-1, d + 3)
    failed, pending = (np.array(sorted(rows[state])).reshape(-1, d + 1) for state in ("failed", "pending"))
    return _pool(
        Evidence(
            X=done[:, :d], legal=done[:, d] == 1.0, values=done[:, d + 1], sd=done[:, d + 2],
            failed=failed[:, :d], legal_failed=failed[:, d] == 1.0,
            pending=pending[:, :d], legal_pending=pending[:, d] == 1.0,
        )
    )  # fmt: skip


def _order(row: tuple[float, ...]) -> tuple[float, ...]:
    """By point, value and noise; NaN has no order, and as a noise it comes last."""
    *point, legal, value, sd = row
    return (*point, value, math.inf if math.isnan(sd) else sd, legal)


def _pool(evidence: Evidence) -> Evidence:
    """Replicates of known noise as one value, weighted by precision.

    Replicates of unknown noise stay apart, because their scatter says what the noise is; a GP pools them itself.
    """
    X, values, sd = evidence.X, evidence.values, evidence.sd
    kept: list[tuple[int, float, float]] = []
    seen: dict[bytes, list[int]] = {}
    for i, row in enumerate(X):
        if np.isnan(sd[i]):
            kept.append((i, values[i], sd[i]))
            continue
        seen.setdefault(row.tobytes(), []).append(i)
    for rows in seen.values():
        if np.any(sd[rows] == 0.0):
            exact = values[rows][sd[rows] == 0.0]
            kept.append((rows[0], float(exact.mean()), 0.0))
        elif len(rows) == 1:
            kept.append((rows[0], values[rows[0]], sd[rows[0]]))
        else:
            least = sd[rows].min()
            share = (least / sd[rows]) ** 2
            kept.append((rows[0], float(share @ values[rows] / share.sum()), float(least / np.sqrt(share.sum()))))
    kept.sort(key=lambda item: item[0])
    first = [item[0] for item in kept]
    return replace(
        evidence, X=X[first], legal=evidence.legal[first],
        values=np.array([item[1] for item in kept]), sd=np.array([item[2] for item in kept]),
    )  # fmt: skip
