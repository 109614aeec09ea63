import numpy as np
import pytest

from xstar import Method, Optimizer
from xstar.acquisition import LogEI
from xstar.engine.thinning import cover, thin
from xstar.methods import ModelSettings


def test_few_data_are_all_kept():
    X = np.random.default_rng(0).random((20, 3))
    assert np.array_equal(thin(X, np.arange(20.0), 20), np.arange(20))


@pytest.mark.parametrize("limit", [10, 31])
def test_the_limit_is_met_without_repeats_in_order(limit):
    rng = np.random.default_rng(1)
    kept = thin(rng.random((200, 4)), rng.random(200), limit)
    assert len(kept) == limit
    assert np.all(np.diff(kept) > 0)


def test_the_best_region_is_kept_and_the_space_stays_covered():
    rng = np.random.default_rng(2)
    X = rng.random((2000, 2))
    values = -np.sum((X - 0.7) ** 2, axis=1)
    kept = thin(X, values, 100)
    close = np.sqrt(np.sum((X[kept] - 0.7) ** 2, axis=1)) < 0.12
    assert close.sum() >= 45
    # Of 50 points chosen to cover the square, none of the others is farther than a grid of 50 cells would leave it.
    gaps = np.sqrt(((X[:, None] - X[kept]) ** 2).sum(-1)).min(axis=1)
    assert gaps.max() < 0.2


def test_a_lucky_value_among_bad_ones_is_not_taken_for_the_best_region():
    rng = np.random.default_rng(3)
    X = rng.random((400, 2))
    values = -np.sum((X - 0.8) ** 2, axis=1)
    lucky = int(np.argmin(np.sum((X - 0.1) ** 2, axis=1)))
    values[lucky] = 0.01  # better than all others by itself, worse than half of them with its neighbors
    kept = thin(X, values, 40)
    near = np.sqrt(np.sum((X[kept] - X[lucky]) ** 2, axis=1)) < 0.1
    assert near.sum() <= 3


def test_covering_starts_from_nothing_and_ends_with_everything():
    X = np.array([[0.0], [0.5], [1.0], [0.52]])
    assert list(cover(X, np.zeros(0, dtype=np.int64), 3)) == [0, 2, 1]
    assert set(cover(X, np.zeros(0, dtype=np.int64), 9)) == {0, 1, 2, 3}


def test_no_point_covers_twice():
    """Not even where all distances are the same: none."""
    X = np.full((6, 2), 0.5)
    found = cover(X, np.array([4, 1]), 4)
    assert sorted(found.tolist()) == [0, 2, 3, 5]
    assert cover(X, np.array([4, 1]), 99).size == 4, "there are no more"


def test_replicates_are_the_last_to_cover():
    X = np.array([[0.0], [0.0], [0.3], [1.0], [1.0]])
    assert set(X[cover(X, np.array([0]), 2), 0]) == {1.0, 0.3}


def test_a_model_of_many_data_predicts_as_well_near_the_optimum():
    rng = np.random.default_rng(4)
    opt = Optimizer([(0.0, 1.0)] * 2, method=Method(acquisition=LogEI(), model=ModelSettings(max_data=60)))
    for x in rng.random((300, 2)):
        opt.tell(x, float(np.cos(4 * x[0]) + x[1] - x[1] ** 2 + 0.01 * rng.standard_normal()))
    mean, _ = opt.predict([[0.02, 0.5], [0.5, 0.9]])
    truth = [np.cos(0.08) + 0.25, np.cos(2.0) + 0.09]
    assert np.allclose(mean, truth, atol=0.05)
    assert opt._model().post.data.count == 60
