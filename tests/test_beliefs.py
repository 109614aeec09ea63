"""What is said of surprises."""

import numpy as np
import pytest

from xstar import Optimizer, Trial
from xstar.beliefs import Calibration


def calibration(outside, count):
    """Of so many values, the latest `outside` are not in their intervals."""
    trials = tuple(Trial(k, {"x": k / count}, "done", 1.0 if k < count - outside else 9.0) for k in range(count))
    return Calibration(trials, np.ones(count), np.zeros(count), np.full(count, 2.0), np.zeros(count))


@pytest.mark.parametrize(
    ("outside", "count", "said"),
    [(0, 10, False), (2, 10, False), (3, 10, True), (3, 30, True), (1, 5, False), (2, 5, True), (0, 0, False)],
)
def test_more_surprises_than_chance_explains_are_said(outside, count, said):
    found = calibration(outside, count).recent_surprise
    assert bool(found) == said
    if said:
        assert found.startswith(f"{outside} of the last {min(count, 10)} values were outside the 95 % interval")


def test_surprises_of_long_ago_are_forgotten():
    old = calibration(5, 30)
    order = np.argsort([-trial.number for trial in old.trials], kind="stable")
    renumbered = tuple(
        Trial(number, old.trials[k].params, "done", old.trials[k].value) for number, k in enumerate(order)
    )
    assert Calibration(renumbered, old.mean, old.low, old.high, old.z).recent_surprise == ""


def test_where_says_so_in_words_and_in_notebooks(monkeypatch):
    opt = Optimizer([(0.0, 1.0)], noise=0.01, seed=1)
    for x in np.linspace(0.0, 1.0, 9):
        opt.tell([x], float(np.sin(3.0 * x)))
    calm = opt.where(20)
    assert calm.surprise == opt.calibration().recent_surprise == ""
    assert "treat the bound" not in str(calm)
    monkeypatch.setattr("xstar.optimizer.calibration", lambda model, trials: calibration(4, 9))
    where = opt.where(20)
    assert str(where).endswith("4 of the last 9 values were outside the 95 % interval that the others predict: "
                               "treat the bound with care")  # fmt: skip
    assert "treat the bound with care" in where._repr_html_()
