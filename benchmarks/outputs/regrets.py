"""How far a run is from the best, without noise and relative to it."""

from __future__ import annotations

import numpy as np

from benchmarks.outputs.hypervolume import hypervolume
from benchmarks.outputs.problems import OutputProblem
from experiments.problems import Rows

LEAST = 1e-6
"""Regrets below count as that: so near are the largest known hypervolumes not known."""


def evaluated(task: OutputProblem, X: Rows) -> Rows:
    """After each of the evaluations (n, d), in hindsight."""
    values = task.values(X)
    losses, feasible = task.losses(values), task.feasible(values)
    if not task.several:
        counted = np.where(feasible, losses[:, 0], _worst(task))
        return _relative(task, np.minimum.accumulate(counted))
    reference, found = _reference(task), np.zeros(len(X))
    for k, loss in enumerate(losses):
        before = found[k - 1] if k else 0.0
        adds = feasible[k] and np.all(loss < reference)
        found[k] = hypervolume(losses[: k + 1][feasible[: k + 1]], reference) if adds else before
    return _short_of(task, found)


def recommended(task: OutputProblem, X: Rows) -> float:
    """Of what is recommended: one point (1, d), or a set (m, d) for several objectives."""
    values = task.values(X)
    losses, feasible = task.losses(values), task.feasible(values)
    if not task.several:
        loss = float(losses[0, 0]) if feasible[0] else _worst(task)
        return float(_relative(task, np.array([loss]))[0])
    return float(_short_of(task, np.array([hypervolume(losses[feasible], _reference(task))]))[0])


def _worst(task: OutputProblem) -> float:
    assert task.worst is not None
    return float(task.signs[0] * task.worst)


def _relative(task: OutputProblem, losses: Rows) -> Rows:
    assert task.optimum is not None
    return np.asarray(np.maximum(losses - task.signs[0] * task.optimum, 0.0) / abs(task.optimum))


def _reference(task: OutputProblem) -> Rows:
    return np.asarray(task.signs * np.array(task.reference))


def _short_of(task: OutputProblem, volumes: Rows) -> Rows:
    assert task.hypervolume is not None
    return np.maximum(1.0 - volumes / task.hypervolume, 0.0)
