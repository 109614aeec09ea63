import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import qmc

from xstar.errors import SettingsError
from xstar.numerics.designs import sobol


@pytest.mark.parametrize("count", [0, 1, 3, 64, 100])
def test_points_lie_in_the_cube_and_follow_the_seed(count):
    points = sobol(count, 4, np.random.default_rng(3))
    assert points.shape == (count, 4)
    assert np.all((points >= 0.0) & (points < 1.0))
    np.testing.assert_array_equal(points, sobol(count, 4, np.random.default_rng(3)))
    if count:
        assert not np.array_equal(points, sobol(count, 4, np.random.default_rng(4)))


def test_sobol_points_are_balanced(rng):
    """Each of the 16 boxes of side 1/4 in the plane holds exactly 4 of 64 points."""
    points = sobol(64, 2, rng)
    counts, *_ = np.histogram2d(*points.T, bins=4, range=[[0, 1], [0, 1]])
    np.testing.assert_array_equal(counts, 4)


@pytest.mark.parametrize("k", [1, 5, 11])
def test_the_first_points_of_every_coordinate_fill_its_dyadic_intervals(k, rng):
    points = sobol(2**k, 40, rng)
    np.testing.assert_array_equal(np.sort(np.floor(points * 2**k), axis=0), np.arange(2**k)[:, None] + np.zeros(40))


DEGREES = (1, 1, 2, 3, 3, 4, 4, 4)
"""Of the polynomials of the first coordinates."""


@pytest.mark.parametrize("first, second", [(0, 1), (0, 2), (1, 2), (2, 4), (3, 4), (1, 5), (5, 6), (4, 7)])
def test_dyadic_boxes_of_any_shape_have_their_share(first, second, rng):
    """Boxes of 2^(s+t-2) points among 512, for polynomials of degrees s and t [Nie92, chapter 4]."""
    share = DEGREES[first] + DEGREES[second] - 2
    x, y = sobol(512, 8, rng)[:, [first, second]].T
    for k in range(9 - share + 1):
        columns, rows = 2**k, 2 ** (9 - share - k)
        box = np.floor(x * columns) * rows + np.floor(y * rows)
        np.testing.assert_array_equal(np.bincount(box.astype(int), minlength=columns * rows), 2**share)


def test_no_two_coordinates_share_their_halves(rng):
    """All four quarters of the plane of any two of 20 coordinates have a quarter of 64 points."""
    upper = (sobol(64, 20, rng) >= 0.5).astype(int)
    np.testing.assert_array_equal(upper.T @ upper, 16 + 16 * np.eye(20))


@pytest.mark.parametrize("dimension", [1, 3, 50])
def test_a_longer_sequence_begins_with_the_shorter(dimension):
    points = sobol(300, dimension, np.random.default_rng(5))
    for count in (0, 1, 2, 3, 64, 65, 299):
        np.testing.assert_array_equal(sobol(count, dimension, np.random.default_rng(5)), points[:count])


def test_every_point_of_a_sequence_is_uniform():
    """Over seeds: a mean of 1/2 and a variance of 1/12, in 5 standard errors each; and no values on a grid."""
    points = np.array([sobol(6, 9, np.random.default_rng(seed)) for seed in range(2000)])
    assert np.max(np.abs(np.mean(points, axis=0) - 0.5)) < 5 / math.sqrt(12 * 2000)
    assert np.max(np.abs(np.var(points, axis=0) - 1 / 12)) < 5 / math.sqrt(180 * 2000)
    assert len(np.unique(points)) == points.size


@pytest.mark.parametrize(
    "count, dimension, gain", [(8, 2, 0.6), (64, 2, 0.3), (1024, 2, 0.1), (20, 6, 0.75), (64, 6, 0.5), (64, 20, 0.9)]
)
def test_the_cube_is_filled_as_by_the_table_of_scipy_and_better_than_by_chance(count, dimension, gain):
    """Medians of the centered discrepancy over 20 seeds."""

    def median(design):
        generators = (np.random.default_rng([seed, count]) for seed in range(20))
        return np.median([math.sqrt(qmc.discrepancy(design(rng))) for rng in generators])

    own = median(lambda rng: sobol(count, dimension, rng))
    with_table = median(lambda rng: qmc.Sobol(dimension, rng=rng).random_base2(math.ceil(math.log2(count)))[:count])
    by_chance = median(lambda rng: rng.random((count, dimension)))
    assert own < 1.05 * with_table
    assert own < gain * by_chance


def test_many_dimensions_are_no_trouble(rng):
    points = sobol(256, 1000, rng)
    assert np.all((points >= 0.0) & (points < 1.0))
    np.testing.assert_array_equal(np.count_nonzero(points < 0.5, axis=0), 128)


def test_designs_need_no_scipy_stats():
    """It takes longer to import than a suggestion takes."""
    code = "import sys, numpy as np; from xstar.numerics.designs import sobol"
    code += "; sobol(9, 2, np.random.default_rng(0)); print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "count, dimension, message",
    [(-1, 2, "count must be at least 0; received -1"), (3, 0, "dimension must be at least 1; received 0"),
     (1.5, 2, "count must be a whole number >= 0; received 1.5"), (True, 2, "count must be a whole number")],
)  # fmt: skip
def test_bad_sizes_are_named(rng, count, dimension, message):
    with pytest.raises(SettingsError, match=message):
        sobol(count, dimension, rng)


def test_a_seed_is_not_a_generator():
    with pytest.raises(SettingsError, match=r"rng must be a Generator, for example numpy.random.default_rng\(0\)"):
        sobol(3, 2, 7)
