"""When a run has found what it was looking for."""

import numpy as np
import pytest

from xstar.beliefs import OptimumPosterior
from xstar.engine.stopping import Tolerance
from xstar.trial import Recommendation

HERE = Recommendation({"x": 0.0}, 0.0, 1.0)


def drawn(regrets):
    return OptimumPosterior({"x": [0.0] * len(regrets)}, np.array(regrets), HERE)


def test_the_bound_is_a_quantile_of_the_regret():
    where = drawn(np.linspace(0.0, 1.0, 101))
    assert Tolerance(0.5).left(where) == pytest.approx(0.95)
    assert Tolerance(0.5, probability=0.5).left(where) == pytest.approx(0.5)


@pytest.mark.parametrize("few, many, met", [(0.1, 0.1, True), (0.1, 0.9, False), (0.9, 0.1, False), (0.5, 0.5, True)])
def test_a_lucky_draw_does_not_end_a_run(few, many, met):
    asked = []

    def where(count):
        asked.append(count)
        return drawn([few if count == 100 else many] * count)

    assert Tolerance(0.5).is_met(where) is met
    assert asked == ([100, 200] if few <= 0.5 else [100]), "more draws only where few promise something"
