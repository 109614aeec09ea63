"""Targets that a wrong sign, a lost end or a biased approximation would show: skewed, bimodal, correlated, cut off."""

import math

import numpy as np
import pytest
from scipy import stats

from xstar.errors import NumericalError
from xstar.numerics.chains import effective_sample_size
from xstar.numerics.elliptical import MAX_SHRINKS, StudentT, elliptical_slice_sample

CHAINS, UPDATES, BURN_IN = 40, 2500, 50


def about(mean, scale, chains=CHAINS, freedom=10.0):
    mean, scale = np.atleast_1d(mean), np.atleast_2d(scale)
    return StudentT(np.tile(mean, (chains, 1)), np.tile(scale, (chains, 1, 1)), freedom)


def run(log_density, approximation, rng, **settings):
    start = approximation.mean.copy()
    result = elliptical_slice_sample(log_density, start, approximation, rng, updates=UPDATES + BURN_IN, **settings)
    assert result.stuck == 0
    return result.draws[BURN_IN:]


def assert_moment(values, exact):
    """Within 5 standard errors of the mean, by the effective sample size: fails once in 10^6 correct runs."""
    size = float(effective_sample_size(values[..., None])[0])
    assert size > 1000
    assert abs(values.mean() - exact) < 5.0 * values.std() / math.sqrt(size)


@pytest.mark.parametrize("mean, scale, freedom", [(-1.0, 1.5, 10.0), (0.5, 0.7, 4.0), (-3.0, 3.0, 30.0)])
def test_a_skewed_target_whatever_the_approximation(rng, mean, scale, freedom):
    """The logarithm t of a Gamma(a, 1) variable: E t = digamma(a), E exp t = a, E exp 2t = a (a + 1)."""
    a = 0.8
    digamma = -0.9650085667061385  # of 0.8
    draws = run(lambda t, _: a * t[:, 0] - np.exp(t[:, 0]), about(mean, scale, freedom=freedom), rng)
    assert_moment(draws[..., 0], digamma)
    assert_moment(np.exp(draws[..., 0]), a)
    assert_moment(np.exp(2.0 * draws[..., 0]), a * (a + 1.0))


def test_a_bimodal_target(rng):
    """0.3 N(-2, 0.5^2) + 0.7 N(2, 1): mean 0.8, second moment 0.3 (4 + 1/4) + 0.7 (4 + 1)."""

    def log_density(x, _):
        left = math.log(0.3 / 0.5) - 0.5 * ((x[:, 0] + 2.0) / 0.5) ** 2
        return np.logaddexp(left, math.log(0.7) - 0.5 * (x[:, 0] - 2.0) ** 2)

    x = run(log_density, about(1.0, 2.0), rng)[..., 0]
    assert_moment(x, 0.8)
    assert_moment(x**2, 0.3 * 4.25 + 0.7 * 5.0)


def test_a_correlated_target(rng):
    covariance = np.array([[1.0, 0.8], [0.8, 2.0]])
    precision = np.linalg.inv(covariance)
    wrong = np.array([[1.5, 0.0], [-0.3, 0.8]])
    draws = run(lambda x, _: -0.5 * np.einsum("ki,ij,kj->k", x, precision, x), about([0.5, -0.5], wrong), rng)
    assert_moment(draws[..., 0], 0.0)
    assert_moment(draws[..., 0] * draws[..., 1], 0.8)
    assert_moment(draws[..., 1] ** 2, 2.0)


@pytest.mark.parametrize("mean", [0.3, 1.0])
def test_bounds_do_not_bias(rng, mean):
    """An exponential of rate 1 cut off at 1: E x = (1 - 2/e) / (1 - 1/e). The density is never asked outside."""

    def log_density(x, _):
        assert np.all((x >= 0.0) & (x <= 1.0))
        return -x[:, 0]

    draws = run(log_density, about(mean, 0.4), rng, lower=0.0, upper=1.0)
    assert draws.min() >= 0.0
    assert draws.max() <= 1.0
    assert_moment(draws[..., 0], (1.0 - 2.0 / math.e) / (1.0 - 1.0 / math.e))


def test_one_update_leaves_the_target_as_it_is(rng):
    """20,000 chains start at draws of a skewed target and make two updates: still its draws, by Kolmogorov and Smirnov.

    A p-value below 1e-4 is a failure, once in 10^4 correct runs.
    """
    start = np.log(rng.gamma(2.0, size=(20_000, 1)))
    result = elliptical_slice_sample(
        lambda t, _: 2.0 * t[:, 0] - np.exp(t[:, 0]), start, about(0.5, 0.6, len(start), 5.0), rng, updates=2
    )
    assert not np.any(result.draws[1] == start)
    assert stats.kstest(np.exp(result.draws[1, :, 0]), stats.gamma(2.0).cdf).pvalue > 1e-4


def test_each_chain_sees_its_own_density_and_approximation(rng):
    centers, scales = np.arange(5) * 10.0, np.array([0.1, 1.0, 3.0, 1.0, 0.5])
    approximation = StudentT(centers[:, None], scales[:, None, None])
    result = elliptical_slice_sample(
        lambda x, chains: -0.5 * ((x[:, 0] - centers[chains]) / scales[chains]) ** 2,
        centers[:, None], approximation, rng, updates=1000,
    )  # fmt: skip
    draws = result.draws[..., 0]
    np.testing.assert_allclose((draws.mean(axis=0) - centers) / scales, 0.0, atol=0.3)
    np.testing.assert_allclose(draws.std(axis=0) / scales, 1.0, atol=0.2)


def test_a_good_approximation_takes_few_tries_and_one_call_each(rng):
    """About the target itself (a t that is almost Gaussian) every first try is taken: one call per update."""
    calls = []

    def log_density(x, _):
        calls.append(len(x))
        return -0.5 * np.sum(x**2, axis=1)

    result = elliptical_slice_sample(
        log_density, np.zeros((3, 2)), about([0.0, 0.0], np.eye(2), 3, 1e9), rng, updates=20
    )
    assert calls == [3] * 21
    assert result.evaluations == 63
    np.testing.assert_allclose(result.log_density, -0.5 * np.sum(result.draws**2, axis=-1))


def test_chains_do_not_wait_for_each_other(rng):
    """One chain needs many tries (its approximation is far too wide), yet the number of calls is its own alone."""
    calls, tries = 0, np.zeros(3, dtype=int)
    scale = np.array([1.0, 0.01, 1.0])

    def log_density(x, chains):
        nonlocal calls
        calls += 1
        np.add.at(tries, chains, 1)
        return -0.5 * (x[:, 0] / scale[chains]) ** 2

    elliptical_slice_sample(log_density, np.zeros((3, 1)), about(0.0, 1.0, 3), rng, updates=30)
    assert calls == tries.max()
    assert tries[1] > 2 * tries[0]


def test_loops_are_bounded_for_a_hostile_density(rng):
    """A density that never grants a move ends after the stated number of tries and says so."""
    calls = 0

    def log_density(x, _):
        nonlocal calls
        calls += 1
        return np.zeros(len(x)) if calls == 1 else np.full(len(x), np.nan)

    result = elliptical_slice_sample(log_density, np.zeros((2, 1)), about(0.0, 1.0, 2), rng, updates=3)
    assert result.stuck == 6
    assert calls == 3 * MAX_SHRINKS + 1
    np.testing.assert_array_equal(result.draws, 0.0)


def test_a_start_without_density_is_refused(rng):
    with pytest.raises(NumericalError, match="2 of 2 chains start where it is zero or undefined"):
        elliptical_slice_sample(
            lambda x, _: np.full(len(x), -np.inf), np.zeros((2, 1)), about(0.0, 1.0, 2), rng, updates=1
        )
    with pytest.raises(NumericalError, match="1 of 1 chains"):
        elliptical_slice_sample(lambda x, _: x[:, 0], np.ones((1, 1)), about(0.0, 1.0, 1), rng, updates=1, upper=0.5)


def test_the_same_seed_gives_the_same_draws():
    def once():
        return elliptical_slice_sample(
            lambda x, _: -np.sum(x**4, axis=1), np.zeros((3, 2)), about([0.0, 0.1], np.eye(2), 3),
            np.random.default_rng(5), updates=10,
        ).draws  # fmt: skip

    np.testing.assert_array_equal(once(), once())


def test_the_density_of_a_t_is_scipys_and_its_draws_follow_it(rng):
    mean, factor = np.array([[1.0, -2.0], [0.0, 5.0]]), np.array([[[2.0, 0.0], [0.5, 0.3]], [[1.0, 0.4], [0.0, 1.0]]])
    t = StudentT(mean, factor, 4.0)
    draws = t.draw(5000, rng)
    for k in range(2):
        exact = stats.multivariate_t(mean[k], factor[k] @ factor[k].T, df=4.0)
        np.testing.assert_allclose(t.log_density(draws)[k], exact.logpdf(draws[k]), rtol=1e-10)
        size = np.sum(t.whiten(draws)[k] ** 2, axis=1) / 2.0
        assert stats.kstest(size, stats.f(2, 4).cdf).pvalue > 1e-4
    z = t.whiten(draws)[:, 0]
    np.testing.assert_allclose(t.unwhiten(z, np.arange(2)), draws[:, 0])
    np.testing.assert_array_equal(t.repeat(3).mean[:, 0], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
