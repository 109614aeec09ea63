"""The probability of feasibility: against sampling, against differences."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from tests.oracles import dense_gp, differences
from xstar.feasibility import Feasibility, FeasibilitySettings
from xstar.gp import Matern52, SquaredExponential

GOOD = np.array([[0.1], [0.35], [0.2]])
FAILED = np.array([[0.7], [0.85]])
KERNELS = [(SquaredExponential(), dense_gp.squared_exponential), (Matern52(), dense_gp.matern52)]


def one_hyperparameter(amplitude, lengthscale, rate=0.7, **others):
    return FeasibilitySettings(
        base_rates=(rate,), amplitudes=(amplitude,), lengthscales=(lengthscale,), deciding_lengthscales=(), **others
    )


def prior_mean(rate, amplitude):
    """The mean of g for which the chance of success is the base rate where nothing is known."""
    return norm.ppf(rate) * math.sqrt(1.0 + amplitude**2)


def sampled(covariance, lengthscale, amplitude, X, sign, Z, count=100_000, rate=0.7):
    """P(success at Z), and the evidence, by draws of g at the data weighted by their likelihood."""
    points = np.concatenate([X, Z])
    scale = np.full(X.shape[1], lengthscale)
    K = np.array([[covariance(x, z, scale, amplitude) for z in points] for x in points])
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(points)))
    # Antithetic draws: half the variance for nothing.
    draws = np.random.default_rng(0).standard_normal((count // 2, len(points)))
    g = prior_mean(rate, amplitude) + np.concatenate([draws, -draws]) @ root.T
    weight = np.exp(norm.logcdf(sign * g[:, : len(X)]).sum(axis=1))
    return weight @ norm.cdf(g[:, len(X) :]) / weight.sum(), weight.mean()


@pytest.mark.parametrize("kernel, covariance", KERNELS, ids=["SquaredExponential", "Matern52"])
@pytest.mark.parametrize("amplitude, lengthscale", [(1.5, 0.2), (1.5, 0.8), (5.0, 0.1), (3.0, 0.4)])
def test_probability_against_weighted_samples(kernel, covariance, amplitude, lengthscale):
    settings = one_hyperparameter(amplitude, lengthscale, kernel=kernel)
    Z = np.linspace(0.0, 1.0, 9)[:, None]
    X, sign = np.concatenate([GOOD, FAILED]), np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    expected, _ = sampled(covariance, lengthscale, amplitude, X, sign, Z)
    p = Feasibility.fit(GOOD, FAILED, settings=settings).probability(Z)
    # EP's Gaussians have no skew, which costs up to 0.025 where the amplitude is large.
    np.testing.assert_allclose(p, expected, atol=0.03)


def test_hyperparameters_are_weighed_by_their_evidence():
    """All of the grid, each by sampling."""
    X, sign, Z = np.concatenate([GOOD, FAILED]), np.array([1.0, 1.0, 1.0, -1.0, -1.0]), np.array([[0.5], [0.75], [0.0]])
    each = [
        sampled(dense_gp.matern52, lengthscale, amplitude, X, sign, Z, 20_000, rate)
        for amplitude in FeasibilitySettings().amplitudes
        for lengthscale in FeasibilitySettings().lengthscales
        for rate in FeasibilitySettings().base_rates
    ]
    evidence = np.array([part[1] for part in each])
    expected = evidence @ np.stack([part[0] for part in each]) / evidence.sum()
    np.testing.assert_allclose(np.exp(Feasibility.fit(GOOD, FAILED).log_probability(Z)), expected, atol=0.02)


def test_one_failure_alone_by_quadrature():
    """One result: the posterior of g(x) has a closed form, and so has the chance of the same again."""
    settings = one_hyperparameter(2.0, 0.3)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    g = prior_mean(0.7, 2.0) + 2.0 * nodes
    expected = weights @ (norm.cdf(-g) * norm.cdf(g)) / (weights @ norm.cdf(-g))
    x = np.array([[0.4]])
    p = Feasibility.fit(np.zeros((0, 1)), x, settings=settings).probability(x)
    assert p[0] == pytest.approx(expected, abs=0.01)


def test_high_near_successes_low_near_failures_the_prior_far_away():
    good, failed = np.array([[0.1, 0.1], [0.15, 0.12], [0.12, 0.2]]), np.array([[0.4, 0.1], [0.42, 0.15], [0.38, 0.2]])
    fitted = Feasibility.fit(good, failed)
    near_good, near_failed, far = np.exp(fitted.log_probability([[0.12, 0.13], [0.4, 0.15], [40.0, 40.0]]))
    assert near_good > 0.8
    assert near_failed < 0.3
    amplitudes = np.asarray(fitted.post.hyper.amplitude)
    prior = np.exp(fitted.log_weight) @ norm.cdf(fitted.mean / np.sqrt(1.0 + amplitudes**2))
    assert far == pytest.approx(prior, abs=1e-6)
    assert 0.55 < far < 0.9


def test_the_base_rate_follows_the_share_of_failures():
    X = np.random.default_rng(0).random((30, 1))
    rare = Feasibility.fit(X[1:], X[:1]).log_probability([[40.0]])
    often = Feasibility.fit(X[:10], X[10:]).log_probability([[40.0]])
    assert rare[0] > math.log(0.85)
    assert often[0] < math.log(0.75)


def test_what_is_likely_depends_on_what_can_be_had():
    """Where even the best place is doubtful, its surroundings still count as likely."""
    hopeless = Feasibility.fit(np.zeros((0, 1)), np.linspace(0.0, 1.0, 9)[:, None])
    highest = float(hopeless.log_probability(np.linspace(0.0, 1.0, 101)[:, None]).max())
    assert hopeless.floor < highest
    assert Feasibility.fit(np.linspace(0.0, 0.8, 40)[:, None], np.array([[1.0]])).floor == math.log(0.9)


def test_more_failures_make_a_place_worse():
    few = Feasibility.fit(GOOD, FAILED).log_probability([[0.75]])
    many = Feasibility.fit(GOOD, np.concatenate([FAILED, [[0.74], [0.78]]])).log_probability([[0.75]])
    assert many[0] < few[0] < math.log(0.5)


def test_one_coordinate_that_decides_alone_is_noticed():
    """Failures where x0 > 0.5, whatever x1: far away in x1 the border is expected at the same x0."""
    X = np.random.default_rng(3).random((24, 2)) * [1.0, 0.5]
    bad = X[:, 0] > 0.5
    p = np.exp(Feasibility.fit(X[~bad], X[bad]).log_probability([[0.1, 1.0], [0.9, 1.0]]))
    assert p[0] > 0.8
    assert p[1] < 0.25


@pytest.mark.parametrize("d", [1, 3])
def test_gradients_against_differences(rng, d):
    X = rng.random((9, d))
    fitted = Feasibility.fit(X[X[:, 0] > 0.4], X[X[:, 0] <= 0.4])
    Z = rng.random((6, d))
    value, gradient = fitted.log_probability_gradient(Z)
    np.testing.assert_allclose(value, fitted.log_probability(Z), rtol=1e-10)
    expected = np.stack([differences.gradient(lambda z: fitted.log_probability(z[None])[0], z, 1e-4) for z in Z])
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("count", [0, 49, 120])
def test_many_results_and_none(count):
    """Not all of many results are used, but none is forgotten: neither the border nor what lies deep behind it."""
    good = np.linspace(0.0, 0.5, count)[:, None]
    failed = np.linspace(0.55, 1.0, 120)[:, None]
    fitted = Feasibility.fit(good, failed)
    p = np.exp(fitted.log_probability([[0.45], [0.6], [0.95]]))
    assert np.all((p >= 0.0) & (p <= 1.0))
    assert p[1] < 0.3
    assert p[2] < 0.35
    if count:
        assert p[0] > 0.7


@pytest.mark.parametrize("d, successes, failures", [(1, 29, 1), (2, 10, 3), (3, 14, 1), (6, 40, 15), (2, 5, 20)])
def test_delegates_speak_for_the_whole_grid(d, successes, failures):
    """Fewer hyperparameters, nearly the same chance everywhere."""
    rng = np.random.default_rng(d + successes)
    good, failed, X = (rng.random((count, d)) for count in (successes, failures, 300))
    few = Feasibility.fit(good, failed)
    all_of_them = Feasibility.fit(good, failed, settings=FeasibilitySettings(num_delegates=10_000))
    assert len(few.mean) <= 24
    assert len(all_of_them.mean) > len(few.mean)
    assert np.exp(few.log_weight).sum() == pytest.approx(1.0)
    chances = np.exp(few.log_probability(X)), np.exp(all_of_them.log_probability(X))
    np.testing.assert_allclose(*chances, atol=0.08)
