"""What trials say of each of several outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from xstar.engine.evidence import Evidence, gather, noise_of
from xstar.engine.settings import Settings
from xstar.goals import Goals
from xstar.trial import Trial


@dataclass(frozen=True)
class JointEvidence:
    """The evidence of every output, and of the evaluations themselves."""

    each: dict[str, Evidence]
    """By output; failures are with the first one."""
    whole: Evidence
    """Of all evaluations, with values that mean nothing: where they were, and whether another would tell more."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Outputs of which no value is known."""
        return tuple(name for name, evidence in self.each.items() if evidence.count == 0)


def of_output(trials: Iterable[Trial], name: str) -> list[Trial]:
    """Return trials as those of one output: an evaluation that has not given it counts no more than a withdrawn one."""
    found = []
    for trial in trials:
        if trial.state != "done":
            found.append(trial)
        elif name in trial.values:
            found.append(replace(trial, value=trial.values[name], sd=trial.sds.get(name), values={}, sds={}))
        else:
            found.append(replace(trial, state="withdrawn", value=None, sd=None, values={}, sds={}))
    return found


def gather_each(settings: Settings, trials: Iterable[Trial]) -> JointEvidence:
    """Return the evidence of trials for every output of `settings.goals`."""
    goals, listed = settings.goals, list(trials)
    assert goals is not None, "of a study of several outputs"
    each = {}
    for k, name in enumerate(goals.names):
        own = gather(settings.of_output(name), of_output(listed, name))
        each[name] = own if k == 0 else replace(own, failed=own.failed[:0], legal_failed=own.legal_failed[:0])
    return JointEvidence(each, gather(replace(settings, goals=None, noise=None), _evaluated(settings, goals, listed)))


def _evaluated(settings: Settings, goals: Goals, trials: list[Trial]) -> list[Trial]:
    """Trials with one value for all outputs, which is exact where all of them were told without noise."""
    found = []
    for trial in trials:
        if trial.state != "done":
            found.append(trial)
            continue
        noises = {noise_of(part, settings.of_output(name).noise) if (part := _part(trial, name)) else None
                  for name in goals.names}  # fmt: skip
        found.append(replace(trial, value=0.0, sd=0.0 if noises == {0.0} else None, values={}, sds={}))
    return found


def _part(trial: Trial, name: str) -> Trial | None:
    """The trial as one of an output, if it was told."""
    if name not in trial.values:
        return None
    return replace(trial, value=trial.values[name], sd=trial.sds.get(name))
