import numpy as np
import pytest

from xstar.errors import SettingsError
from xstar.numerics.designs import latin_hypercube, sobol


@pytest.mark.parametrize("design", [sobol, latin_hypercube])
@pytest.mark.parametrize("count", [0, 1, 3, 64, 100])
def test_points_lie_in_the_cube_and_follow_the_seed(design, count):
    points = design(count, 4, np.random.default_rng(3))
    assert points.shape == (count, 4)
    assert np.all((points >= 0.0) & (points < 1.0))
    np.testing.assert_array_equal(points, design(count, 4, np.random.default_rng(3)))
    if count:
        assert not np.array_equal(points, design(count, 4, np.random.default_rng(4)))


def test_a_latin_hypercube_has_one_point_in_each_slice(rng):
    points = latin_hypercube(20, 3, rng)
    for column in points.T:
        assert sorted(np.floor(column * 20).astype(int)) == list(range(20))


def test_sobol_points_are_balanced(rng):
    """Each of the 16 boxes of side 1/4 in the plane holds exactly 4 of 64 points."""
    points = sobol(64, 2, rng)
    counts, *_ = np.histogram2d(*points.T, bins=4, range=[[0, 1], [0, 1]])
    np.testing.assert_array_equal(counts, 4)


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
        latin_hypercube(3, 2, 7)
