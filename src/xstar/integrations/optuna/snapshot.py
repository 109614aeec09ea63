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
from optuna.trial import FrozenTrial, TrialState

from xstar.integrations.optuna import records
from xstar.integrations.optuna.outcomes import Outputs
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
    outputs: Outputs
    """Objectives, and the constraints that any of the trials has."""
    evidence: tuple[Trial, ...]
    """What the trials say, except stale ones."""
    optimizer: Optimizer
    """One that was told the evidence, with the settings of the sampler; to be asked, not to be told more."""

    @cached_property
    def settled(self) -> frozenset[int]:
        """Numbers of trials for which no point is being chosen: those in evidence, stale ones, finished ones."""
        return frozenset({*self.final, *(trial.number for trial in self.evidence)})

    @cached_property
    def final(self) -> frozenset[int]:
        """Numbers of trials of which nothing new will be heard: stale and finished ones."""
        return frozenset({*self.stale, *(trial.number for trial in self.trials if trial.state.is_finished())})

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What of the study is not in the model, and why, in sentences."""
        complete = [trial for trial in self.trials if trial.state == TrialState.COMPLETE]
        said = []
        left_out = records.left_out(self.trials, self.space.parameters)
        if left_out:
            shown = ", ".join(f'"{name}" ({count} of {len(complete)} results)' for name, count in left_out.items())
            partly = any(count < len(complete) for count in left_out.values())
            why = "only what all results have can be" if partly else "the definition or search space does not name them"
            said.append(
                f"not in the model: {shown}; {why}. What they change looks like noise to it; parameters that depend on "
                "others are best studied one branch at a time."
            )
        known = {trial.number for trial in self.evidence}
        silent = [
            trial for trial in complete
            if trial.number not in known and records.WITHDRAWN not in trial.user_attrs
        ]  # fmt: skip
        if silent:
            lacking = [name for name in self.space.parameters if any(name not in trial.params for trial in silent)]
            names = ", ".join(f'"{name}"' for name in lacking)
            why = f"they lack {names}" if lacking else "their values do not fit the parameters as they are now"
            said.append(f"not in the model: {len(silent)} of {len(complete)} results; {why}.")
        return tuple(said)

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
