"""Contracts that every kernel passes."""

import numpy as np
import pytest

from tests.oracles import dense_gp, differences
from xstar.gp import Hyperparameters, Matern52, SquaredExponential
from xstar.gp.features import draw_features

KERNELS = [(SquaredExponential(), dense_gp.squared_exponential), (Matern52(), dense_gp.matern52)]
BOTH = pytest.mark.parametrize("kernel, oracle", KERNELS, ids=["SquaredExponential", "Matern52"])
ALL_DIMENSIONS = pytest.mark.parametrize("d", [1, 2, 3, 6])


def hyper(d, amplitude=1.7):
    return Hyperparameters(np.linspace(0.2, 0.9, d), amplitude, 0.1)


@BOTH
@ALL_DIMENSIONS
def test_covariance_against_the_textbook(backend, rng, kernel, oracle, d):
    X, Z = rng.random((4, d)), rng.random((5, d))
    Z[0] = X[0]
    h = hyper(d)
    result = backend.numpy(kernel.covariance(h.like(backend.array(X)), backend.array(X), backend.array(Z)))
    np.testing.assert_allclose(result, dense_gp.gram(oracle, X, Z, h.lengthscales, 1.7), rtol=1e-12)
    assert result[0, 0] == pytest.approx(1.7**2, rel=1e-15)


@BOTH
def test_leading_axes_broadcast(backend, rng, kernel, oracle):
    X, Z = rng.random((3, 1, 4, 2)), rng.random((5, 2))
    h = Hyperparameters(0.1 + rng.random((3, 2, 2)), 0.5 + rng.random((3, 2)), 0.1)
    points = backend.array(X)
    result = backend.numpy(kernel.covariance(h.like(points), points, backend.array(Z)))
    assert result.shape == (3, 2, 4, 5)
    for i, j in np.ndindex(3, 2):
        expected = dense_gp.gram(oracle, X[i, 0], Z, h.lengthscales[i, j], h.amplitude[i, j])
        np.testing.assert_allclose(result[i, j], expected, rtol=1e-12)


@BOTH
@ALL_DIMENSIONS
def test_gradient_against_differences_and_zero_at_coincident_points(backend, rng, kernel, oracle, d):
    x, Z = rng.random(d), rng.random((4, d))
    h = hyper(d)
    points = backend.array(np.stack([x, Z[0]]))
    value, slope = kernel.covariance_and_gradient(h.like(points), points, backend.array(Z))
    expected = differences.gradient(lambda p: kernel.covariance(h, p[None], Z)[0], x, 1e-4)
    np.testing.assert_allclose(backend.numpy(slope)[0], expected, atol=1e-7)
    np.testing.assert_array_equal(backend.numpy(slope)[1, 0], 0.0)
    np.testing.assert_allclose(
        backend.numpy(value), backend.numpy(kernel.covariance(h.like(points), points, backend.array(Z))), rtol=1e-12
    )


@BOTH
def test_profile_derivatives_against_differences(kernel, oracle):
    for s in (0.01, 0.3, 2.0, 9.0):
        profile = kernel.profile(np.array([s]), 3)
        for k in range(3):
            slope = differences.gradient(lambda z, k=k: kernel.profile(z, k)[k][0], np.array([s]), 1e-4 * s)
            np.testing.assert_allclose(profile[k + 1][0], slope[0], rtol=1e-7)


@BOTH
def test_profile_at_zero_distance_is_finite_without_warning(backend, kernel, oracle):
    profile = kernel.profile(backend.array([0.0]), 3)
    assert all(np.isfinite(backend.numpy(part)).all() for part in profile)
    assert backend.numpy(profile[0])[0] == 1.0


def test_far_apart_covariances_are_exact_until_nothing_is_left_of_them():
    distance = np.array([1.0, 50.0, 150.0, 199.0])
    np.testing.assert_allclose(SquaredExponential().profile(2.0 * distance, 0)[0], np.exp(-distance), rtol=1e-12)
    (far,) = SquaredExponential().profile(np.array([1e6]), 0)
    assert 0.0 < far[0] < 1e-80


def test_known_values():
    """rho_1(0) = -1/2 and rho_2(0) = 1/4 for the squared exponential, -5/6 and 25/12 for the Matern."""
    at_zero = np.zeros(1)
    for kernel, first, second in ((SquaredExponential(), -0.5, 0.25), (Matern52(), -5.0 / 6.0, 25.0 / 12.0)):
        _, rho_1, rho_2 = kernel.profile(at_zero, 2)
        np.testing.assert_allclose([rho_1[0], rho_2[0]], [first, second], rtol=1e-14)


@BOTH
@pytest.mark.parametrize("d", [1, 2, 4])
def test_random_features_converge_to_the_kernel(backend, rng, kernel, oracle, d):
    """The mean of m products is within 6 standard errors of the kernel for each of 36 pairs, and within 0.02."""
    X = rng.random((6, d))
    h = Hyperparameters(np.full((1, d), 0.4), [1.3], [0.1])
    exact = kernel.covariance(h, X, X)[0]
    m = 200_000
    phi = backend.numpy(draw_features(kernel, h.like(backend.array(X)), m, rng)(backend.array(X)))[0]
    products = m * phi[:, None, :] * phi[None, :, :]
    error = np.abs(products.mean(axis=-1) - exact)
    assert np.all(error < 6.0 * products.std(axis=-1) / np.sqrt(m))
    assert error.max() < 0.02


@BOTH
def test_spectral_moments(rng, kernel, oracle):
    """The second moment of the frequencies is -2 rho_1(0), the same in every coordinate and uncorrelated."""
    w = kernel.frequencies((400_000, 3), rng)
    _, rho_1 = kernel.profile(np.zeros(1), 1)
    np.testing.assert_allclose(w.T @ w / len(w), -2.0 * rho_1[0] * np.eye(3), atol=0.03)


def test_matern_frequencies_share_one_chi_square(rng):
    """Coordinates are uncorrelated but dependent: their squares correlate, unlike those drawn apart."""
    w = Matern52().frequencies((400_000, 2), rng)
    clipped = np.minimum(w**2, 25.0)
    assert np.corrcoef(clipped[:, 0], clipped[:, 1])[0, 1] > 0.15
    normal = SquaredExponential().frequencies((400_000, 2), rng)
    assert abs(np.corrcoef(normal[:, 0] ** 2, normal[:, 1] ** 2)[0, 1]) < 0.01
