"""Normal scores: the change of variables, the approximation, and the first draws of chains."""

import numpy as np
import pytest
from scipy import stats

from tests.oracles import differences
from xstar.gp import MAP, CommonScale, Gamma, Matern52, Prior, SquaredExponential
from xstar.gp.log_posterior import LogPosterior
from xstar.gp.observations import Observations
from xstar.gp.scores import ApproximationSettings, Scores, log_normal

INDEPENDENT = [Prior(Gamma(2.0, 2.0)), Prior(Gamma(0.5, 3.0), Gamma(1e6, 2e6), Gamma(30.0, 2.0))]
PRIORS = [Prior(), Prior(CommonScale(0.5, 0.3, 2.0), noise=Gamma(0.3, 2.0)), *INDEPENDENT]


def problem(rng, sets=1, n=6, kernel=None):
    X, y = rng.random((sets, n, 2)), rng.standard_normal((sets, n))
    return LogPosterior([kernel or SquaredExponential()], Observations.check(X, y), Prior())


@pytest.mark.parametrize("prior", PRIORS)
def test_scores_and_logarithms_are_inverse_to_each_other_and_gradients_follow(rng, prior):
    u = np.clip(1.5 * rng.standard_normal((40, 4)), -4.5, 4.5)
    theta = prior.from_normal(u)
    np.testing.assert_allclose(prior.to_normal(theta), u, atol=1e-6)
    weights = rng.standard_normal(4)
    slope = differences.gradient(lambda v: prior.from_normal(v) @ weights, u[0])
    np.testing.assert_allclose(prior.gradient_by_scores(weights, u[0], theta[0]), slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("prior", PRIORS)
def test_scores_are_standard_normal_under_the_prior(rng, prior):
    """p(theta) |d theta / d u| = N(u; 0, I)."""
    for u in np.clip(rng.standard_normal((5, 4)), -2.0, 2.0):
        jacobian = differences.gradient(prior.from_normal, u)
        density = prior.log_density_and_gradient(prior.from_normal(u))[0]
        assert density + np.linalg.slogdet(jacobian)[1] == pytest.approx(log_normal(u), abs=1e-4)


@pytest.mark.parametrize("prior", INDEPENDENT)
def test_scores_are_the_normal_quantiles_of_prior_probabilities(rng, prior):
    u = np.clip(1.5 * rng.standard_normal((40, 4)), -4.5, 4.5)
    theta = prior.from_normal(u)
    marginals = [prior.lengthscale, prior.lengthscale, prior.amplitude, prior.noise]
    for k, gamma in enumerate(marginals):
        below = stats.gamma(gamma.shape, scale=1.0 / gamma.rate).cdf(np.exp(theta[:, k]))
        np.testing.assert_allclose(below, stats.norm.cdf(u[:, k]), rtol=1e-5, atol=1e-12)


def test_scores_far_in_the_tails():
    u = np.array([[-4.7, 4.7, -4.7, 4.7]])
    np.testing.assert_allclose(Prior().to_normal(Prior().from_normal(u)), u, rtol=1e-10)


def test_the_density_of_scores_is_that_of_theta_with_the_jacobian(rng):
    target = problem(rng)
    scores = Scores(target)
    u = 0.5 * rng.standard_normal((5, 4))
    theta = Prior().from_normal(u)
    stretch = [np.linalg.slogdet(differences.gradient(Prior().from_normal, row))[1] for row in u]
    expected = target.evaluate(theta[None], np.array([0])).value[0] + stretch
    np.testing.assert_allclose(scores.log_density(u, np.zeros(5, dtype=int)), expected, rtol=1e-7)


def test_without_data_the_approximation_is_the_prior(rng):
    scores = Scores(problem(rng, n=0))
    about = scores.approximate(MAP().find_mode(scores.target, rng).theta)
    np.testing.assert_allclose(about.mean, 0.0, atol=1e-6)
    np.testing.assert_allclose(about.factor[0] @ about.factor[0].T, np.eye(4), atol=1e-6)


def test_the_approximation_has_the_curvature_of_the_posterior(rng):
    """Two data sets; where the curvature exceeds that of the prior in all directions it is taken as it is."""
    target = problem(rng, sets=2, n=25, kernel=Matern52())
    scores = Scores(target)
    mode = MAP().find_mode(target, rng)
    about = scores.approximate(mode.theta)
    for r in range(2):
        center = Prior().to_normal(mode.theta[r])
        curvature = -differences.hessian(lambda u, r=r: scores.log_density(u[None], np.array([r]))[0], center, 1e-2)
        values, vectors = np.linalg.eigh(curvature)
        expected = (vectors / np.maximum(values, 1.0)) @ vectors.T
        np.testing.assert_allclose(about.factor[r] @ about.factor[r].T, expected, rtol=0.02, atol=1e-3)
        assert scores.log_density(about.mean[r : r + 1], np.array([r])) > scores.log_density(
            center[None], np.array([r])
        )


def test_first_draws_are_weighed_by_importance(rng):
    """Without data and from a poor approximation: still draws from the prior, by Kolmogorov and Smirnov.

    Resampled draws depend on each other a little; a p-value below 1e-6 is a failure.
    """
    scores = Scores(problem(rng, n=0))
    about = scores.approximate(Prior().from_normal(np.array([[1.0, -1.0, 0.5, 0.0]])))
    prior_draws = rng.standard_normal((400, 4))
    draws, spent = scores.first_draws(about, np.zeros((1, 4)), prior_draws, np.zeros((1, 400)), 400, rng)
    assert draws.shape == (1, 400, 4)
    assert 0 < spent <= 400 * ApproximationSettings().draws_per_chain
    for k in range(4):
        assert stats.kstest(draws[0, :, k], stats.norm.cdf).pvalue > 1e-6


def test_the_mode_stands_in_where_no_draw_has_density(rng, monkeypatch):
    scores = Scores(problem(rng))
    about = scores.approximate(Prior().median(2)[None])
    monkeypatch.setattr(scores, "log_density", lambda u, problems: np.full(len(u), -np.inf))
    modes = Prior().from_normal(np.array([[0.1, 0.2, 0.3, 0.4]]))
    draws, _ = scores.first_draws(about, modes, rng.standard_normal((8, 4)), np.full((1, 8), -np.inf), 3, rng)
    np.testing.assert_allclose(draws, np.broadcast_to([0.1, 0.2, 0.3, 0.4], (1, 3, 4)), atol=1e-9)
