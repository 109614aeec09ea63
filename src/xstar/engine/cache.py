"""Fitted models, kept for whoever asks next: the optimizer, a sampler, a worker share one of these."""

from __future__ import annotations

from typing import NamedTuple

from xstar.engine.evidence import Evidence
from xstar.engine.fit import NUMERICAL, fit, fit_for_claims, fit_simply
from xstar.engine.model import Model
from xstar.engine.settings import Settings

KEPT = 2
"""Models that are kept, each with that for claims: of all results, and without some of them."""


class Models:
    """The latest models, each a function of settings and evidence."""

    def __init__(self) -> None:
        self._kept: tuple[_Entry, ...] = ()

    def model(self, settings: Settings, evidence: Evidence) -> Model:
        """Return the model of the results in evidence, fitted if it is not at hand; a simpler one if that fails."""
        entry = self._find(settings, evidence) or _Entry(settings, evidence, _fit(settings, evidence))
        self._keep(entry)
        return entry.model

    def for_claims(self, settings: Settings, evidence: Evidence) -> Model:
        """Return the model for claims about the results in evidence, likewise."""
        model = self.model(settings, evidence)
        entry = self._find(settings, evidence) or _Entry(settings, evidence, model)
        if entry.claims is None:
            entry = entry._replace(claims=fit_for_claims(model))
            self._keep(entry)
        assert entry.claims is not None, "it was just made"
        return entry.claims

    def _keep(self, entry: _Entry) -> None:
        # Entries are replaced together, so that threads may share the cache.
        others = (other for other in self._kept if other.model is not entry.model)
        self._kept = (entry, *others)[:KEPT]

    def _find(self, settings: Settings, evidence: Evidence) -> _Entry | None:
        return next(
            (
                entry
                for entry in self._kept
                if entry.evidence.same_results(evidence) and entry.settings.same_model(settings)
            ),
            None,
        )


def _fit(settings: Settings, evidence: Evidence) -> Model:
    try:
        return fit(settings, evidence)
    except NUMERICAL as error:
        return fit_simply(settings, evidence, f"the model could not be fitted: {str(error).rstrip('.')}")


class _Entry(NamedTuple):
    settings: Settings
    evidence: Evidence
    model: Model
    claims: Model | None = None
