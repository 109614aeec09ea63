"""Targets that a wrong sign or a lost end of the interval would show: skewed, bimodal, correlated, cut off."""

import math

import numpy as np
import pytest

from xstar.errors import NumericalError
from xstar.numerics.chains import effective_sample_size, split_r_hat
from xstar.numerics.slice_sampling import MAX_SHRINKS, slice_sample

CHAINS, SWEEPS, BURN_IN = 20, 3000, 50


def run(log_density, p, rng, start=0.0, **settings):
    result = slice_sample(log_density, np.full((CHAINS, p), start), rng, sweeps=SWEEPS + BURN_IN, **settings)
    return result, result.draws[BURN_IN:]


def assert_moment(values, exact):
    """Within 5 standard errors of the mean, by the effective sample size: fails once in 10^6 correct runs."""
    size = float(effective_sample_size(values[..., None])[0])
    assert size > 1000
    assert abs(values.mean() - exact) < 5.0 * values.std() / math.sqrt(size)


def test_a_skewed_target(rng):
    """The logarithm t of a Gamma(a, 1) variable: E t = digamma(a), E exp t = a, E exp 2t = a (a + 1)."""
    a = 0.8
    digamma = -0.9650085667061385  # of 0.8
    _, draws = run(lambda t, _: a * t[:, 0] - np.exp(t[:, 0]), 1, rng)
    assert_moment(draws[..., 0], digamma)
    assert_moment(np.exp(draws[..., 0]), a)
    assert_moment(np.exp(2.0 * draws[..., 0]), a * (a + 1.0))


def test_a_bimodal_target(rng):
    """0.3 N(-2, 0.5^2) + 0.7 N(2, 1): mean 0.8, second moment 0.3 (4 + 1/4) + 0.7 (4 + 1), P(x < 0) by hand."""

    def log_density(x, _):
        left = math.log(0.3 / 0.5) - 0.5 * ((x[:, 0] + 2.0) / 0.5) ** 2
        right = math.log(0.7) - 0.5 * (x[:, 0] - 2.0) ** 2
        return np.logaddexp(left, right)

    _, draws = run(log_density, 1, rng, width=2.0)
    x = draws[..., 0]
    assert_moment(x, 0.8)
    assert_moment(x**2, 0.3 * 4.25 + 0.7 * 5.0)
    below = 0.3 * (1.0 - math.erfc(4.0 / math.sqrt(2.0)) / 2.0) + 0.7 * math.erfc(2.0 / math.sqrt(2.0)) / 2.0
    assert_moment((x < 0.0).astype(float), below)


def test_a_correlated_target(rng):
    covariance = np.array([[1.0, 0.8], [0.8, 2.0]])
    precision = np.linalg.inv(covariance)
    _, draws = run(lambda x, _: -0.5 * np.einsum("ki,ij,kj->k", x, precision, x), 2, rng)
    assert_moment(draws[..., 0] * draws[..., 1], 0.8)
    assert_moment(draws[..., 1] ** 2, 2.0)


@pytest.mark.parametrize("width", [0.05, 1.0, 100.0])
def test_bounds_and_widths_do_not_bias(rng, width):
    """An exponential of rate 1 cut off at 1: E x = (1 - 2/e) / (1 - 1/e)."""
    _, draws = run(lambda x, _: -x[:, 0], 1, rng, start=0.5, lower=0.0, upper=1.0, width=width)
    assert draws.min() >= 0.0
    assert draws.max() <= 1.0
    assert_moment(draws[..., 0], (1.0 - 2.0 / math.e) / (1.0 - 1.0 / math.e))


def test_each_chain_sees_its_own_density(rng):
    centers = np.arange(CHAINS) * 10.0
    start = centers[:, None].copy()
    result = slice_sample(lambda x, chains: -0.5 * (x[:, 0] - centers[chains]) ** 2, start, rng, sweeps=500)
    means = result.draws[..., 0].mean(axis=0)
    np.testing.assert_allclose(means, centers, atol=0.5)


def test_densities_belong_to_the_draws_and_evaluations_are_counted(rng):
    calls = []

    def log_density(x, _):
        calls.append(len(x))
        return -np.sum(x**2, axis=1)

    result = slice_sample(log_density, np.zeros((3, 2)), rng, sweeps=20)
    np.testing.assert_allclose(result.log_density, -np.sum(result.draws**2, axis=-1))
    assert result.evaluations == sum(calls)
    assert result.stuck == 0


def test_nan_is_no_density(rng):
    with np.errstate(invalid="ignore", divide="ignore"):
        result = slice_sample(lambda x, _: np.log(x[:, 0]) - x[:, 0], np.ones((4, 1)), rng, sweeps=200)
    assert result.draws.min() > 0.0


def test_loops_are_bounded_for_a_hostile_density(rng):
    """A density that never grants a move ends after the stated number of tries and says so."""
    seen = 0

    def log_density(x, _):
        nonlocal seen
        seen += 1
        return np.zeros(len(x)) if seen == 1 else np.full(len(x), -np.inf)

    result = slice_sample(log_density, np.zeros((2, 1)), rng, sweeps=1)
    assert result.stuck == 2
    assert seen <= MAX_SHRINKS + 3
    np.testing.assert_array_equal(result.draws, 0.0)


def test_a_flat_density_steps_out_a_bounded_number_of_times(rng):
    result = slice_sample(lambda x, _: np.zeros(len(x)), np.zeros((2, 1)), rng, sweeps=10)
    assert np.abs(result.draws).max() <= 10 * 16


def test_a_start_without_density_is_refused(rng):
    with pytest.raises(NumericalError, match="2 of 2 chains start where it is zero or undefined"):
        slice_sample(lambda x, _: np.full(len(x), -np.inf), np.zeros((2, 1)), rng, sweeps=1)


def test_the_same_seed_gives_the_same_draws():
    def once():
        return slice_sample(
            lambda x, _: -np.sum(x**2, axis=1), np.zeros((3, 2)), np.random.default_rng(5), sweeps=10
        ).draws

    np.testing.assert_array_equal(once(), once())


def test_r_hat_tells_mixed_chains_from_separated_ones(rng):
    mixed = rng.standard_normal((200, 4, 2))
    np.testing.assert_allclose(split_r_hat(mixed), 1.0, atol=0.03)
    apart = mixed + np.arange(4)[None, :, None]
    assert np.all(split_r_hat(apart) > 1.4)
    drifting = mixed + np.linspace(0.0, 3.0, 200)[:, None, None]
    assert np.all(split_r_hat(drifting) > 1.2)
    assert np.all(np.isnan(split_r_hat(mixed[:3])))
    np.testing.assert_array_equal(split_r_hat(np.zeros((10, 2, 1))), 1.0)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_effective_sample_size_of_an_autoregression(rng, correlation):
    """For an AR(1) chain it is N (1 - r) / (1 + r), estimated here within 20 %."""
    sweeps, chains = 4000, 4
    x = np.empty((sweeps, chains, 1))
    x[0] = rng.standard_normal((chains, 1))
    for t in range(1, sweeps):
        x[t] = correlation * x[t - 1] + math.sqrt(1.0 - correlation**2) * rng.standard_normal((chains, 1))
    expected = sweeps * chains * (1.0 - correlation) / (1.0 + correlation)
    np.testing.assert_allclose(effective_sample_size(x), expected, rtol=0.2)
    assert np.isnan(effective_sample_size(x[:3])).all()
