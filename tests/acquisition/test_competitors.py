"""EI, LogEI, MES, Thompson and ES against quadrature, mpmath and sampling."""

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from xstar.acquisition import EI, ES, MES, PES, LogEI, Thompson
from xstar.acquisition.es import maximum_probabilities
from xstar.acquisition.mes import _information
from xstar.gp import Hyperparameters, Posterior, SquaredExponential
from xstar.search import BoxSearch, draw_candidates


def posterior(rng, noise=0.1, H=None):
    X = rng.random((6, 2))
    h = Hyperparameters(np.full(2 if H is None else (H, 2), 0.4), 1.0 if H is None else np.linspace(0.8, 1.5, H), noise)
    return Posterior(SquaredExponential(), h, X, np.sin(5.0 * X[:, 0]))


def test_expected_improvement_against_quadrature(rng):
    post = posterior(rng, H=2)
    Z = rng.random((4, 2))
    mean, variance = post.predict(Z)
    best = post.predict(post.data.X)[0].max(axis=1)
    expected = np.zeros(4)
    for h, z in np.ndindex(2, 4):
        normal = stats.norm(mean[h, z], np.sqrt(variance[h, z]))
        value, _ = integrate.quad(lambda f, n=normal, b=best[h]: (f - b) * n.pdf(f), best[h], best[h] + 12.0, limit=200)
        expected[z] += value / 2
    np.testing.assert_allclose(EI().prepare(post, rng)(Z), expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(LogEI().prepare(post, rng)(Z), np.log(expected), atol=1e-5)


@pytest.mark.parametrize("z", [-1e4, -300.0, -40.0, -10.0, -1.0, 0.0, 5.0, 40.0])
def test_log_improvement_over_hundreds_of_decades(z):
    """Without data mean 0 and sd 1 everywhere: with a best of -z, log EI = log(phi(z) + z Phi(z))."""
    post = Posterior(SquaredExponential(), Hyperparameters([0.4], 1.0, 0.1), np.zeros((0, 1)), np.zeros(0))
    score = LogEI().prepare(post, np.random.default_rng(0))
    vars(score.score)["best"] = np.array([[-z]])  # in the place of what would be computed from data
    with mpmath.workdps(60):
        x = mpmath.mpf(z)
        density = mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
        if z < -60:
            # phi(z) (1 - |z| m(|z|)) with the Mills ratio's asymptotic series
            series = 1 / x**2 - 3 / x**4 + 15 / x**6
            exact = -x * x / 2 - mpmath.log(mpmath.sqrt(2 * mpmath.pi)) + mpmath.log(series)
        else:
            exact = mpmath.log(density + x * mpmath.ncdf(x))
    assert float(score([[0.5]])[0]) == pytest.approx(float(exact), rel=1e-9)


def test_max_value_entropy_against_quadrature(rng):
    """Entropy of a normal minus that of the same normal cut off above each sampled maximum."""
    post = posterior(rng)
    score = MES(3, 100).prepare(post, rng)
    Z = rng.random((3, 2))
    mean, variance = post.predict(Z)
    for k in range(3):
        sd = np.sqrt(variance[k])
        gains = []
        for top in score.score.maxima[0, 0]:
            mass = stats.norm.cdf(top, mean[k], sd)

            def integrand(f, m=mean[k], s=sd, p=mass):
                density = stats.norm.pdf(f, m, s) / p
                return -density * np.log(max(density, 1e-300))

            entropy, _ = integrate.quad(
                integrand, mean[k] - 12 * sd, top, points=[mean[k]] if top > mean[k] else None, limit=400
            )
            gains.append(0.5 * np.log(2 * np.pi * np.e * variance[k]) - entropy)
        assert float(score(Z[k : k + 1])[0]) == pytest.approx(np.mean(gains), rel=1e-4, abs=1e-7)


def test_several_thompson_samples_are_their_upper_envelope(rng):
    """Its maximum is the highest of the paths' own."""
    post = posterior(rng, H=2)
    score = Thompson(4).prepare(post, rng)
    paths, Z = score.score.paths, rng.random((50, 2))
    np.testing.assert_allclose(score(Z), paths(Z).max(axis=0), rtol=1e-12)
    assert len(set(paths(Z).argmax(axis=0))) > 1
    candidates = draw_candidates(256, post.data.X, rng)
    found, each = BoxSearch().maximize(score, candidates), BoxSearch().maximize(paths, candidates)
    assert found.x.shape == (1, 2)
    np.testing.assert_allclose(found.value[0], each.value.max(), rtol=1e-9)
    np.testing.assert_allclose(found.x[0], each.x[each.value.argmax()], atol=1e-5)


def test_probabilities_of_the_maximum_against_sampling(backend, rng):
    """EP's p_max for 12 correlated values against a million draws; standard error below 5e-4, EP within 0.02."""
    points = rng.random((12, 2))
    mean, covariance = posterior(rng).joint(points)
    draws = rng.multivariate_normal(mean, covariance + 1e-10 * np.eye(12), size=1_000_000)
    frequency = np.bincount(np.argmax(draws, axis=1), minlength=12) / len(draws)
    log_p, *_ = maximum_probabilities(backend.array(mean[None]), backend.array(covariance[None]))
    np.testing.assert_allclose(np.exp(backend.numpy(log_p)[0]), frequency, atol=0.02)


def test_derivatives_of_the_probabilities(rng):
    """Gradient of log p_i in the mean against differences of EP's own evidence."""
    points = rng.random((6, 2))
    mean, covariance = posterior(rng).joint(points)
    log_p, slope, bend, _, _ = maximum_probabilities(mean[None], covariance[None])
    p = np.exp(log_p[0])
    # Normalizing subtracts the mean gradient; compare the normalized ones.
    normalized = slope[0] - p @ slope[0]
    step = 1e-3
    for j in range(6):
        shift = step * np.eye(6)[j]
        up, down = (maximum_probabilities((mean + s * shift)[None], covariance[None])[0][0] for s in (1, -1))
        change = (up - down) / (2 * step)
        likely = p > 1e-3
        np.testing.assert_allclose(
            normalized[likely, j], change[likely], atol=0.05 * np.abs(change[likely]).max() + 1e-3
        )
    assert np.linalg.eigvalsh(bend[0]).min() > -1e-9


@pytest.mark.parametrize("d, n, noise", [(1, 12, 1e-3), (1, 4, 1e-5), (2, 30, 1e-3), (1, 4, 0.0)])
def test_entropy_search_with_representers_that_depend_on_each_other(d, n, noise):
    """Smooth functions and little noise: values at 30 representers are combinations of a few. p_max must stay right."""
    X = np.random.default_rng(3).random((n, d))
    post = Posterior(SquaredExponential(), Hyperparameters(np.full(d, 0.4), 1.0, noise), X, np.sin(5.0 * X[:, 0]))
    score = ES(30).prepare(post, np.random.default_rng(0))
    mean, covariance = post.joint(score.score.representers)
    draws = np.random.default_rng(2).multivariate_normal(mean, covariance, size=200_000, method="eigh")
    frequency = np.bincount(np.argmax(draws, axis=1), minlength=30) / len(draws)
    np.testing.assert_allclose(np.exp(score.score._beliefs.log_p[0]), frequency, atol=0.08)
    values = score(np.random.default_rng(1).random((50, d)))
    assert np.isfinite(values).all()
    assert values.min() > -0.05


def test_max_value_entropy_far_in_the_tail():
    """For g << 0 the information is log(-g) + log(2 pi) / 2 - 1/2 up to 1 / g^2."""
    g = np.array([-1e2, -1e4, -1e6, -1e8])
    expected = np.log(-g) + 0.5 * np.log(2.0 * np.pi) - 0.5
    np.testing.assert_allclose(_information(g), expected, rtol=1e-3)
    np.testing.assert_allclose(_information(g[1:]), expected[1:], rtol=1e-7)


@pytest.mark.parametrize("acquisition", [EI(), LogEI(), MES(20), PES(20), ES(20)], ids=lambda a: type(a).__name__)
def test_a_pending_point_is_not_asked_for_again(acquisition):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.random((4, 2))
        post = Posterior(SquaredExponential(), Hyperparameters([0.4, 0.4], 1.0, 1e-2), X, np.sin(5.0 * X[:, 0]))
        candidates = rng.random((400, 2))
        first = candidates[[int(np.argmax(acquisition.prepare(post, np.random.default_rng(seed))(candidates)))]]
        later = acquisition.prepare(post, np.random.default_rng(seed), pending=first)(candidates)
        second = candidates[int(np.argmax(later))]
        assert np.abs(second - first[0]).max() > 0.05


def test_entropy_search_expects_nothing_at_a_known_point(rng):
    post = posterior(rng, noise=1e-4)
    score = ES(20).prepare(post, rng)
    assert np.abs(score(post.data.X)).max() < 1e-2
    assert score(rng.random((100, 2))).max() > 0.05
