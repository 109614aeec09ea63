"""A study as it was at one moment: read once, converted once, and shared by all who want to know.

A worker takes a snapshot when a result is in. It counts the trials by it, checks the tolerance by it, and hands it to
the sampler for the next suggestion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from xstar.optimizer import Optimizer
from xstar.space import Space
from xstar.trial import Trial


@dataclass(frozen=True)
class Snapshot:
    """The trials of a study, and what they say."""

    trials: tuple[FrozenTrial, ...]
    """As they were read; their numbers are 0, 1, ..."""
    stale: frozenset[int]
    """Numbers of running trials that nobody works on any more."""
    distributions: Mapping[str, BaseDistribution]
    space: Space
    """The same as xstar's parameters."""
    evidence: tuple[Trial, ...]
    """What the trials say, except stale ones."""
    optimizer: Optimizer
    """One that was told the evidence, with the settings of the sampler; to be asked, not to be told more."""

    @cached_property
    def settled(self) -> frozenset[int]:
        """Numbers of trials of which nothing new will be heard: those in evidence, stale ones, finished ones."""
        finished = {trial.number for trial in self.trials if trial.state.is_finished()}
        return frozenset({*finished, *self.stale, *(trial.number for trial in self.evidence)})

    def is_older_than(self, trial: FrozenTrial) -> bool:
        """Return whether other trials have begun between the snapshot and a trial."""
        return trial.number > len(self.trials)


@dataclass(frozen=True)
class SharedSuggestion:
    """What a sampler has suggested for a trial, and let other workers see."""

    params: Mapping[str, Any]
    """Empty if every point of the space has been evaluated."""
    trials: Sequence[FrozenTrial] | None
    """All trials, read after the suggestion was shared; None if it was not."""
