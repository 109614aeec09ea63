"""Fronts, volumes and cells against counting and against every pair."""

import numpy as np
import pytest

from xstar.numerics.pareto import cells, hypervolume, nondominated, spread_out

EVERY = pytest.mark.parametrize("m", [1, 2, 3, 4])


@EVERY
def test_what_is_not_dominated_against_every_pair(rng, m):
    values = rng.integers(0, 6, (60, m)).astype(float)
    kept = nondominated(values)
    for i, row in enumerate(values):
        beaten = np.any(np.all(values >= row, axis=1) & np.any(values > row, axis=1))
        again = np.any(np.all(values[kept] == row, axis=1)) and not kept[i]
        assert kept[i] == (not beaten and not again)
    assert len(np.unique(values[kept], axis=0)) == kept.sum()


@EVERY
def test_volumes_and_cells_against_counting(rng, m):
    values, reference = rng.random((12, m)), np.full(m, 0.1)
    drawn = rng.random((100_000, m))
    dominated = np.zeros(len(drawn), dtype=bool)
    for row in values:
        dominated |= np.all(drawn <= row, axis=1)
    above = np.all(drawn > reference, axis=1)
    assert hypervolume(values, reference) == pytest.approx(np.mean(dominated & above), abs=0.006)
    found = cells(values, reference)
    inside = sum(
        np.all((drawn > low) & (drawn < high), axis=1) for low, high in zip(found.lower, found.upper, strict=True)
    )
    assert np.array_equal(inside, (~dominated & above).astype(int))


def test_a_volume_in_two_dimensions_by_hand():
    values = np.array([[3.0, 1.0], [1.0, 2.0], [0.5, 0.5], [-1.0, 9.0]])
    assert hypervolume(values, np.zeros(2)) == 3.0 + 1.0
    assert hypervolume(values[:0], np.zeros(2)) == 0.0
    assert hypervolume(values, np.array([9.0, 9.0])) == 0.0


def test_cells_of_nothing_are_everything_above_the_reference():
    found = cells(np.zeros((0, 3)), np.array([1.0, 2.0, 3.0]))
    assert found.lower.tolist() == [[1.0, 2.0, 3.0]]
    assert np.all(np.isinf(found.upper))


def test_one_objective_has_one_cell_above_its_best():
    found = cells(np.array([[1.0], [3.0]]), np.array([-np.inf]))
    assert found.lower.tolist() == [[3.0]]
    assert hypervolume(np.array([[1.0], [3.0]]), np.array([0.5])) == 2.5


def test_points_that_are_spread_out():
    values = np.array([[0.0, 100.0], [0.5, 50.0], [1.0, 0.0], [0.01, 99.0], [0.0, 100.0]])
    assert spread_out(values, 3, 0).tolist() == [0, 2, 1]
    assert spread_out(values, 9, 2).tolist() == [2, 0, 1, 3]  # of those that are alike, one
    assert spread_out(values[:1], 3, 0).tolist() == [0]
