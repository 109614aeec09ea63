"""Fitted models, kept for whoever asks next: the optimizer, a sampler, a worker share one of these."""

from __future__ import annotations

from typing import NamedTuple

from xstar.engine.evidence import Evidence
from xstar.engine.fit import fit
from xstar.engine.model import Model
from xstar.engine.settings import Settings

KEPT = 2
"""Models that are kept: that of all results, and one without some of them."""


class Models:
    """The latest models, each a function of settings and evidence."""

    def __init__(self) -> None:
        self._kept: tuple[_Entry, ...] = ()

    def model(self, settings: Settings, evidence: Evidence) -> Model:
        """Return the model of the results in evidence, fitted if it is not at hand."""
        # Entries are replaced together, so that threads may share the cache.
        entry = self._find(settings, evidence) or _Entry(settings, evidence, fit(settings, evidence))
        self._kept = (entry, *(other for other in self._kept if other is not entry))[:KEPT]
        return entry.model

    def _find(self, settings: Settings, evidence: Evidence) -> _Entry | None:
        return next(
            (
                entry
                for entry in self._kept
                if entry.evidence.same_results(evidence) and entry.settings.same_model(settings)
            ),
            None,
        )


class _Entry(NamedTuple):
    settings: Settings
    evidence: Evidence
    model: Model
