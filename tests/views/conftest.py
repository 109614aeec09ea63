"""What all tests of pictures have in common."""

import sys

import pytest

from tests.views.studies import SAMPLES
from xstar import Optimizer


@pytest.fixture(autouse=True)
def no_pyplot(monkeypatch):
    """Importing pyplot is an error."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    """A picture shows 200 sampled optima; a few are enough here."""
    where = Optimizer.where
    monkeypatch.setattr(Optimizer, "where", lambda self, num_samples=SAMPLES: where(self, SAMPLES))
