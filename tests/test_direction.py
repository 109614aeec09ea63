"""Which values are better: the only place that knows."""

import json

import numpy as np
import pytest

from xstar import Optimizer
from xstar.direction import Direction
from xstar.errors import SettingsError


@pytest.mark.parametrize("name, best", [("maximize", 5.0), ("minimize", -2.0)])
def test_the_best_of_some_values(name, best):
    direction = Direction.parse(name)
    assert direction == name
    assert json.dumps(direction) == f'"{name}"'
    assert direction.best([3.0, -2.0, 5.0], lambda value: value) == best
    assert direction.best([], lambda value: value) is None
    assert direction.best([(0, 1.0), (1, 1.0)], lambda item: item[1]) == (0, 1.0), "of equal ones the first"


def test_the_best_so_far():
    values = np.array([1.0, 3.0, 2.0, -4.0])
    assert Direction.MAXIMIZE.running_best(values).tolist() == [1.0, 3.0, 3.0, 3.0]
    assert Direction.MINIMIZE.running_best(values).tolist() == [1.0, 1.0, 1.0, -4.0]


@pytest.mark.parametrize("name, value, expected", [
    ("maximize", 2.0, 1.0), ("maximize", 0.5, 0.5), ("minimize", 2.0, 2.0), ("minimize", 0.5, 1.0),
])  # fmt: skip
def test_nothing_better_than_a_bound(name, value, expected):
    assert Direction.parse(name).no_better_than(value, 1.0) == expected


@pytest.mark.parametrize("wrong", ["max", "MAXIMIZE", None, 1, ""])
def test_other_words_are_refused(wrong):
    with pytest.raises(SettingsError, match=r'direction must be "maximize" or "minimize"; received'):
        Direction.parse(wrong)


def test_a_minimum_is_the_maximum_of_the_negative_values():
    up, down = (Optimizer([(0.0, 1.0)], name, "logei") for name in ("maximize", "minimize"))
    for x in (0.0, 0.2, 0.5, 0.9, 1.0):
        up.tell([x], -((x - 0.4) ** 2))
        down.tell([x], (x - 0.4) ** 2)
    assert up.ask().params == down.ask().params
    one, other = up.recommend(), down.recommend()
    assert (one.params, one.mean, one.sd) == (other.params, -other.mean, other.sd)
    np.testing.assert_array_equal(up.where(20).regret, down.where(20).regret)
