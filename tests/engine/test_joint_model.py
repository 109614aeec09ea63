"""Models of several outputs together."""

import numpy as np
import pytest

from xstar import Method, Objective, Optimizer
from xstar.acquisition import LogEI
from xstar.gp import MAP, Matern52

QUICK = Method(Matern52(), MAP(), acquisition=LogEI())


def front_of(**objectives):
    """Of a study with x and (1 - x)^2, to minimize, that knows the middle only."""
    opt = Optimizer({"x": (0.0, 1.0)}, method=QUICK, noise=0.0, objectives=objectives)
    for x in (0.4, 0.45, 0.5, 0.55, 0.6):
        opt.tell({"x": x}, {"near": x, "far": (1.0 - x) ** 2})
    return opt.pareto()


def test_hypervolumes_are_measured_from_the_ends_of_the_front_that_is_expected():
    """Beyond those of the points that are known: else nothing there would be a gain."""
    reference = front_of(near="minimize", far="minimize").reference
    assert 0.9 < reference["near"] < 2.0
    assert 0.8 < reference["far"] < 2.0


def test_or_from_where_it_was_said():
    reference = front_of(near=Objective("minimize", reference=0.75), far="minimize").reference
    assert reference["near"] == pytest.approx(0.75)
    assert np.isfinite(reference["far"])
