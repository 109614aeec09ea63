"""Slopes at points, and rotated jets, against difference quotients of the kernel."""

import numpy as np
import pytest

from tests.oracles import differences
from xstar.entropy.functionals import Functionals, Rotated, Slopes
from xstar.gp import Hyperparameters, Matern52, SquaredExponential

BOTH = pytest.mark.parametrize("kernel", [SquaredExponential(), Matern52()], ids=["SquaredExponential", "Matern52"])
STEP = 1e-5


def slopes(kernel, rng, d=3, H=2, S=2, Q=2, e=2):
    hyper = Hyperparameters(0.3 + 0.2 * rng.random((1, H, d)), 1.0 + rng.random((1, H)), 0.1)
    return Slopes(kernel, hyper, rng.random((1, H, S, Q, d)), rng.standard_normal((1, H, S, Q, e, d)))


def of_points(kernel, hyper, h, X, Z):
    alone = Hyperparameters(hyper.lengthscales[0, h], hyper.amplitude[0, h], 0.1)
    return kernel.covariance(alone, X, Z)


@BOTH
def test_covariances_are_derivatives_of_the_kernel(rng, kernel):
    T = slopes(kernel, rng)
    X = rng.random((1, 1, 4, 3))
    cov = T.covariance(X)
    assert cov.shape == (1, 2, 2, 4, T.length) == (1, 2, 2, 4, 6)
    for h in range(2):
        ell = T.hyper.lengthscales[0, h]
        for s in range(2):
            for i in range(2):
                p = T.points[0, h, s, i]
                np.testing.assert_allclose(cov[0, h, s, :, i], of_points(kernel, T.hyper, h, X[0, 0], p[None])[:, 0])
                for v in range(2):
                    step = STEP * T.directions[0, h, s, i, v] * ell
                    ends = (of_points(kernel, T.hyper, h, X[0, 0], (p + side * step)[None])[:, 0] for side in (1, -1))
                    high, low = ends
                    np.testing.assert_allclose(
                        cov[0, h, s, :, 2 + 2 * i + v], (high - low) / (2 * STEP), rtol=1e-6, atol=1e-8
                    )


@BOTH
def test_the_prior_is_the_derivative_of_the_covariance(rng, kernel):
    T = slopes(kernel, rng)
    prior = T.prior()
    np.testing.assert_allclose(prior, np.swapaxes(prior, -1, -2), atol=1e-12)
    assert np.linalg.eigvalsh(prior).min() > -1e-9
    for h in range(2):
        for s in range(2):
            at = T.points[0, h, s]
            own = Slopes(kernel, T.hyper, T.points, T.directions)
            np.testing.assert_allclose(prior[0, h, s, :2], own.covariance(at[None, None])[0, h, s])
            for i in range(2):
                for v in range(2):
                    step = STEP * T.directions[0, h, s, i, v] * T.hyper.lengthscales[0, h]
                    high, low = (T.covariance((at[i] + side * step)[None, None, None])[0, h, s, 0] for side in (1, -1))
                    np.testing.assert_allclose(prior[0, h, s, 2 + 2 * i + v], (high - low) / (2 * STEP), atol=2e-4)


@BOTH
@pytest.mark.parametrize("e", [0, 2])
def test_the_gradient_of_slopes(rng, kernel, e):
    T = slopes(kernel, rng, e=e)
    weights = rng.standard_normal((1, 2, 2, 5, T.length))
    X = rng.random((1, 1, 5, 3))

    def total(x):
        return np.sum(weights * T.covariance(x[None, None]), axis=(0, 1, 2, 4))

    np.testing.assert_allclose(
        T.pull_back(X, weights)[0],
        differences.gradient(lambda s: total(X[0, 0] + s), np.zeros(3)),
        rtol=1e-5,
        atol=1e-7,
    )


@BOTH
def test_rotated_jets(rng, kernel):
    d, H, S = 3, 2, 2
    hyper = Hyperparameters(0.3 + 0.2 * rng.random((1, H, d)), 1.0 + rng.random((1, H)), 0.1)
    plain = Functionals(kernel, hyper, rng.random((1, H, S, d)), rng.random((1, 1, 2, d)))
    rotation = np.linalg.qr(rng.standard_normal((1, H, S, d, d)))[0]
    T = Rotated(plain, rotation)
    X = rng.random((1, 1, 4, d))
    cov, before = T.covariance(X), plain.covariance(X)
    np.testing.assert_allclose(
        cov[..., 1 : 1 + d], np.einsum("...nj,...ij->...ni", before[..., 1 : 1 + d], rotation), atol=1e-12
    )
    np.testing.assert_array_equal(np.delete(cov, [1, 2, 3], axis=-1), np.delete(before, [1, 2, 3], axis=-1))
    turn = np.zeros((1, H, S, T.length, T.length)) + np.eye(T.length)
    turn[..., 1 : 1 + d, 1 : 1 + d] = rotation
    np.testing.assert_allclose(T.prior(), turn @ plain.prior() @ np.swapaxes(turn, -1, -2), atol=1e-12)
    weights = rng.standard_normal(cov.shape)

    def total(x):
        return np.sum(weights * T.covariance(x[None, None]), axis=(0, 1, 2, 4))

    np.testing.assert_allclose(
        T.pull_back(X, weights)[0],
        differences.gradient(lambda s: total(X[0, 0] + s), np.zeros(3)),
        rtol=1e-5,
        atol=1e-7,
    )
    assert T.first(1).covariance(X).shape == (1, H, 1, 4, T.length)
