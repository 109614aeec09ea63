import numpy as np

from xstar.numerics.ascent import Evaluation, ascend
from xstar.numerics.culling import best_distinct, best_hills

X = np.array([[[0.1], [0.105], [0.9], [0.5], [0.502]], [[0.2], [0.2], [0.2], [0.2], [0.2]]])
VALUE = np.array([[3.0, 4.0, 1.0, 2.0, 2.5], [1.0, 5.0, 2.0, np.nan, 3.0]])


def test_one_start_for_each_hill_goes_on():
    mask = best_distinct(2, 0.01)(X, VALUE)
    np.testing.assert_array_equal(mask, [[False, True, False, False, True], [False, True, False, False, False]])
    assert best_distinct(3, 0.01)(X, VALUE)[0].sum() == 3


def test_the_best_hills_come_first_and_repeats_fill_up(backend):
    x, value = backend.array(X), backend.array(VALUE)
    np.testing.assert_array_equal(backend.numpy(best_hills(x, value, 3, 0.01)), [[1, 4, 2], [1, 4, 2]])
    np.testing.assert_array_equal(backend.numpy(best_hills(x, value, 5, 0.01))[0], [1, 4, 2, 0, 3])


def test_climbs_end_where_only_rounding_is_left():
    """Values are off by 1e-9, slopes by 3e-7: without knowing so, the last steps look like failures."""

    def objective(x, problems):
        z = x[..., 0] - 0.3
        value = np.cos(z) + 1e-9 * np.sin(1e9 * z)
        slope = -np.sin(z) + 3e-7 * np.cos(1e8 * z)
        return Evaluation(value, slope[..., None], -np.cos(z)[..., None, None])

    starts, low = np.linspace(0.0, 1.0, 40)[:, None, None], np.zeros(1)
    plain = ascend(objective, starts, low, low + 1.0)
    aware = ascend(objective, starts, low, low + 1.0, rounding=np.full(40, 2e-9))
    assert aware.converged.all()
    assert not plain.converged.all()
    assert aware.iterations.sum() < plain.iterations.sum()
    np.testing.assert_allclose(aware.x, 0.3, atol=1e-5)
