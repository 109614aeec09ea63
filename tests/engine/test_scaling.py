import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.oracles import differences
from xstar.engine.scaling import Scaling

VALUES = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6))
TAILS = np.array([-1e9, -50.0, -4.0, -0.5, 0.0, 0.3, 1.0, 4.0, 60.0, 1e9])


def fit(values):
    v = np.asarray(values, dtype=np.float64)
    return Scaling.fit(v, np.full(len(v), 1.0 / len(v)))


@pytest.fixture
def bulk(rng):
    return rng.standard_normal(40)


@given(VALUES)
def test_the_way_back_leads_to_the_same_values(values):
    scaling = fit(values)
    spread = max(np.ptp(values), 1e-12 * np.abs(values).max())
    np.testing.assert_allclose(scaling.inverse(scaling.forward(values)), values, rtol=1e-9, atol=1e-9 * spread)


@pytest.mark.parametrize("far", [1e3, 1e9, 1e100, 1e250])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_way_back_from_far_outliers(bulk, far, sign):
    values = np.append(bulk, sign * far)
    scaling = fit(values)
    np.testing.assert_allclose(scaling.inverse(scaling.forward(values)), values, rtol=1e-9, atol=1e-12)


@given(VALUES)
def test_order_never_changes(values):
    y = fit(values).forward(np.sort(values))
    assert np.all(np.diff(y) >= 0.0)


def test_values_between_and_beyond_the_fences_stay_distinct(bulk):
    grid = np.linspace(-1e3, 1e3, 4001)
    assert np.all(np.diff(fit(bulk).forward(grid)) > 0.0)


def test_without_outliers_it_standardizes(bulk):
    y = fit(bulk).forward(bulk)
    np.testing.assert_allclose(y, (bulk - bulk.mean()) / bulk.std(), rtol=1e-12)


def test_the_center_is_weighted(bulk):
    weights = np.linspace(0.0, 1.0, len(bulk))
    weights /= weights.sum()
    scaling = Scaling.fit(bulk, weights)
    np.testing.assert_allclose(weights @ scaling.forward(bulk), 0.0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e12, 1e-12, 1e-300, 1e290])
def test_scaling_the_values_changes_nothing(bulk, scale):
    values = np.append(bulk, [-1e3, 1e3])
    np.testing.assert_allclose(fit(scale * values).forward(scale * values), fit(values).forward(values), rtol=1e-9)


@pytest.mark.parametrize("shift, tolerance", [(1e3, 1e-11), (-1e6, 1e-8), (1e12, 1e-2)])
def test_shifting_the_values_changes_nothing(bulk, shift, tolerance):
    """Up to the rounding of the shifted values themselves: at 1e12 they are multiples of 1.2e-4."""
    values = np.append(bulk, [-1e3, 1e3])
    np.testing.assert_allclose(fit(values + shift).forward(values + shift), fit(values).forward(values), atol=tolerance)


@pytest.mark.parametrize("outlier", [-1e9, -1e30])
@pytest.mark.parametrize("count", [1, 3])
def test_bad_outliers_do_not_squash_the_bulk(bulk, outlier, count):
    values = np.append(bulk, [outlier] * count)
    y = fit(values).forward(values)
    assert y[: len(bulk)].std() > 0.03
    assert np.ptp(y) < 12.0
    np.testing.assert_allclose(np.corrcoef(y[: len(bulk)], bulk)[0, 1], 1.0)


def test_how_bad_an_outlier_is_hardly_matters(bulk):
    """A thousand times worse is a few spreads of the bulk farther, not a thousand."""
    scaling = fit(bulk)
    far, farther = scaling.forward(np.array([-1e6, -1e9]))
    assert 0.5 < far - farther < 5.0


def test_few_values_have_no_outliers():
    values = np.array([0.0, 1.0, 2.0, -1e9])
    np.testing.assert_allclose(fit(values).forward(values), (values - values.mean()) / values.std())


@pytest.mark.parametrize("place", [-50.0, -4.0, -0.5, 0.3, 1.0, 4.0, 60.0])
def test_the_slope_is_the_derivative(bulk, place):
    scaling = fit(np.append(bulk, -1e9))
    expected = differences.gradient(lambda v: scaling.forward(v)[0], np.array([place]), 1e-4)[0]
    assert scaling.slope(np.array([place]))[0] == pytest.approx(expected, rel=1e-6)


def test_the_slope_reaches_outliers(bulk):
    """There, 1 / (value scale) times the width: the derivative of a logarithm."""
    scaling = fit(bulk)
    step = 1e5
    quotient = np.diff(scaling.forward(np.array([-1e9 - step, -1e9 + step])))[0] / (2.0 * step)
    assert scaling.slope(np.array([-1e9]))[0] == pytest.approx(quotient, rel=1e-5)


def test_the_spread_of_a_value_is_that_of_y_in_the_bulk(bulk):
    scaling = fit(bulk)
    sd = scaling.spread(np.array([0.1]), np.array([0.05]))
    assert sd[0] == pytest.approx(0.05 / scaling.slope_of_bulk)
    assert scaling.spread(np.array([-8.0]), np.array([0.05]))[0] > 0.05 * scaling.scale


@pytest.mark.parametrize("value", [0.0, 3.5, -1e12, 1e308, 5e-324])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_constant_values_become_zeros(value, count):
    values = np.full(count, value)
    scaling = fit(values)
    np.testing.assert_allclose(scaling.forward(values), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaling.inverse(np.zeros(count)), values, rtol=1e-15)
    assert np.all(np.isfinite(scaling.slope(values)))


def test_differences_of_rounding_only_are_no_signal():
    values = 0.1 + np.array([0.0, 1.0, 2.0, 1.0, 0.0, 1.0]) * np.spacing(0.1)
    assert np.abs(fit(values).forward(values)).max() < 1e-10


@pytest.mark.parametrize(
    "values",
    [
        [1.7e308, -1.7e308],
        [1e308, 1.1e308, 1.2e308, 1.3e308, 1.4e308, 1.5e308],
        [1.7e308, -1.7e308, 1e308, -1e308, 0.0, 1.0, 3e307],
        [1.7e308, 1.7e308, 1.6e308, -1.7e308, 1.65e308, 1.5e308],
        [-1.7e308, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    ],
    ids=["two", "bulk", "both signs", "one low", "outlier"],
)
def test_the_largest_numbers_do_not_overflow(values):
    """Warnings are errors here, so no overflow goes unseen."""
    v = np.array(values)
    y = fit(v).forward(v)
    assert np.all(np.isfinite(y))
    assert np.all(np.diff(y[np.argsort(v, kind="stable")]) >= 0.0)
    assert np.ptp(y) > 1.0
    assert np.all(np.isfinite(fit(v).inverse(y)))


def test_unfitted_it_changes_nothing():
    np.testing.assert_array_equal(Scaling().forward(TAILS), TAILS)
    np.testing.assert_array_equal(Scaling().inverse(TAILS), TAILS)
    np.testing.assert_array_equal(Scaling().slope(TAILS), np.ones(10))


@pytest.mark.parametrize("y", [-1e6, 1e6, -1e300, 1e300])
def test_the_way_back_from_absurd_predictions_is_finite(bulk, y):
    back = fit(bulk).inverse(np.array([y]))
    assert np.isfinite(back[0])
    assert np.sign(back[0]) == np.sign(y)
