"""Every covariance of a jet against difference quotients of the kernel, and against closed values."""

import numpy as np
import pytest

from tests.oracles import differences
from xstar.gp import Hyperparameters, Matern52, SquaredExponential
from xstar.gp.jets import jet_covariance, jet_layout, jet_prior, jet_pull_back
from xstar.numerics.arrays import move, to_numpy

BOTH = pytest.mark.parametrize("kernel", [SquaredExponential(), Matern52()], ids=["SquaredExponential", "Matern52"])
ALL_DIMENSIONS = pytest.mark.parametrize("d", [1, 2, 3, 6])


def hyper(d):
    return Hyperparameters(np.linspace(0.4, 0.9, d), 1.3, 0.1)


def gradients(kernel, h, X, x_star, along=None):
    """The gradient of each entry of the covariance, (..., n, t, d): unit weights pull it out of their sum."""
    t = jet_layout(X.shape[-1] if along is None else len(along)).length
    lead = np.broadcast_shapes(h.batch_shape, x_star.shape[:-1], X.shape[:-2])
    shape = (*lead, X.shape[-2], t)
    units = [np.broadcast_to(np.eye(t)[k], shape) for k in range(t)]
    columns = [to_numpy(jet_pull_back(kernel, h, X, x_star, move(unit, X), along)) for unit in units]
    return np.stack(columns, axis=-2)


def jet_of(function, x, lengthscales, step):
    """The jet of a function at x by differences, derivatives in lengthscale units; the jet on the last axis."""
    layout = jet_layout(len(x))
    slope = differences.gradient(function, x, step) * lengthscales
    bend = differences.hessian(function, x, step) * lengthscales * lengthscales[:, None]
    return np.concatenate([np.asarray(function(x))[..., None], slope, bend[..., layout.first, layout.second]], axis=-1)


def test_layout():
    layout = jet_layout(3)
    assert layout.length == 1 + 2 * 3 + 3
    assert (layout.gradient, layout.diagonal, layout.off_diagonal) == (slice(1, 4), slice(4, 7), slice(7, 10))
    assert list(zip(layout.first, layout.second, strict=True)) == [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]


@BOTH
@ALL_DIMENSIONS
def test_covariance_with_the_jet_against_differences(backend, rng, kernel, d):
    X, x_star, h = rng.random((5, d)), rng.random(d), hyper(d)
    X[0] = x_star
    expected = jet_of(lambda z: kernel.covariance(h, X, z[None])[:, 0], x_star, h.lengthscales, 1e-3)
    points = backend.array(X)
    result = backend.numpy(jet_covariance(kernel, h.like(points), points, backend.array(x_star)))
    assert result.shape == (5, jet_layout(d).length)
    np.testing.assert_allclose(result[1:], expected[1:], rtol=1e-6, atol=2e-7)
    # At the point itself the Matern profile is only C^4, which costs the quotient its accuracy.
    np.testing.assert_allclose(result[0], expected[0], atol=1e-6 if kernel == SquaredExponential() else 2e-2)
    np.testing.assert_allclose(result[0], jet_prior(kernel, h)[0], atol=1e-14)


@BOTH
@ALL_DIMENSIONS
def test_gradient_of_the_covariance_against_differences(backend, rng, kernel, d):
    x, x_star, h = rng.random(d), rng.random(d), hyper(d)
    expected = differences.gradient(lambda z: jet_covariance(kernel, h, z[None], x_star)[0], x, 1e-3)
    points = backend.array(np.stack([x, x_star]))
    result = gradients(kernel, h.like(points), points, backend.array(x_star))
    assert result.shape == (2, jet_layout(d).length, d)
    np.testing.assert_allclose(result[0], expected, rtol=1e-6, atol=1e-7)
    assert np.isfinite(result[1]).all()


@BOTH
@ALL_DIMENSIONS
def test_pulling_back_is_linear_in_the_weights(backend, rng, kernel, d):
    """And stays in the namespace of its arguments."""
    X, x_star, h = rng.random((4, d)), rng.random(d), hyper(d)
    weights = rng.standard_normal((4, jet_layout(d).length))
    points = backend.array(X)
    result = jet_pull_back(kernel, h.like(points), points, backend.array(x_star), backend.array(weights))
    expected = np.einsum("nt,ntd->nd", weights, gradients(kernel, h, X, x_star))
    np.testing.assert_allclose(backend.numpy(result), expected, rtol=1e-11, atol=1e-12)


@BOTH
@ALL_DIMENSIONS
def test_gradient_at_the_point_itself_is_the_prior_covariance_with_the_slope(kernel, d):
    """d/dx_k cov(f(x), T f) at x = x_star is cov(d_k f, T f), divided by the lengthscale."""
    h = hyper(d)
    x_star = np.full(d, 0.3)
    result = gradients(kernel, h, x_star[None], x_star)[0]
    rows = jet_prior(kernel, h)[:, jet_layout(d).gradient]
    np.testing.assert_allclose(result, rows / h.lengthscales, atol=1e-12)


@BOTH
@pytest.mark.parametrize("d", [1, 2, 3])
def test_prior_of_the_jet_is_the_jet_of_the_covariance(kernel, d):
    """Differentiate cov(f(x), T f) at x = x_star once more on the other side."""
    h = hyper(d)
    x_star = np.full(d, 0.4)
    smooth = kernel == SquaredExponential()
    step = 1e-2 if smooth else 1e-5
    expected = jet_of(lambda z: jet_covariance(kernel, h, z[None], x_star)[0], x_star, h.lengthscales, step)
    np.testing.assert_allclose(
        jet_prior(kernel, h), expected, rtol=1e-4 if smooth else 1e-3, atol=1e-4 if smooth else 5e-2
    )


@pytest.mark.parametrize("kernel, slope, bend", [(SquaredExponential(), 1.0, 1.0), (Matern52(), 5.0 / 3.0, 25.0 / 3.0)])
def test_prior_of_the_jet_has_the_known_values(backend, kernel, slope, bend):
    """var d_i f = slope, var d_ii f = 3 bend, cov(d_ii f, d_jj f) = var d_ij f = bend, cov(f, d_ii f) = -slope."""
    h = Hyperparameters([0.3, 0.7], 2.0, 0.1).like(backend.array([0.0]))
    expected = 4.0 * np.array(
        [
            [1, 0, 0, -slope, -slope, 0],
            [0, slope, 0, 0, 0, 0],
            [0, 0, slope, 0, 0, 0],
            [-slope, 0, 0, 3 * bend, bend, 0],
            [-slope, 0, 0, bend, 3 * bend, 0],
            [0, 0, 0, 0, 0, bend],
        ]
    )
    np.testing.assert_allclose(backend.numpy(jet_prior(kernel, h)), expected, rtol=1e-13)


@BOTH
@ALL_DIMENSIONS
def test_joint_covariance_of_values_and_jet_is_positive_definite(kernel, rng, d):
    h = hyper(d)
    X, x_star = rng.random((6, d)), rng.random(d)
    cross = jet_covariance(kernel, h, X, x_star)
    joint = np.block([[kernel.covariance(h, X, X), cross], [cross.T, jet_prior(kernel, h)]])
    assert np.linalg.eigvalsh(joint).min() > -1e-10


@BOTH
def test_leading_axes(backend, rng, kernel):
    """One jet for each hyperparameter sample and each path, points shared."""
    h = Hyperparameters(0.2 + rng.random((3, 1, 2)), 0.5 + rng.random((3, 1)), 0.1)
    X, x_star = rng.random((4, 2)), rng.random((3, 5, 2))
    like = backend.array(X)
    result = backend.numpy(jet_covariance(kernel, h.like(like), like, backend.array(x_star)))
    slope = gradients(kernel, h.like(like), like, backend.array(x_star))
    assert result.shape == (3, 5, 4, 6)
    assert slope.shape == (3, 5, 4, 6, 2)
    for i, j in np.ndindex(3, 5):
        one = Hyperparameters(h.lengthscales[i, 0], h.amplitude[i, 0], 0.1)
        np.testing.assert_allclose(result[i, j], jet_covariance(kernel, one, X, x_star[i, j]), rtol=1e-12)
        np.testing.assert_allclose(slope[i, j], gradients(kernel, one, X, x_star[i, j]), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("along", [[], [1], [0, 2], [0, 1, 2]])
def test_derivatives_along_some_coordinates_are_part_of_the_jet(rng, along):
    h = Hyperparameters(0.3 + rng.random((2, 3)), 0.5 + rng.random(2), 0.1)
    X, x_star = rng.random((4, 3)), rng.random((2, 3))
    layout, columns = jet_layout(3), np.array(along, dtype=np.int64)
    kept = np.isin(layout.first, columns) & np.isin(layout.second, columns)
    entries = np.flatnonzero(np.concatenate([[True], np.isin(np.arange(3), columns), kept]))
    for kernel in (SquaredExponential(), Matern52()):
        np.testing.assert_allclose(
            jet_covariance(kernel, h, X, x_star, columns), jet_covariance(kernel, h, X, x_star)[..., entries]
        )
        np.testing.assert_allclose(
            gradients(kernel, h, X, x_star, columns), gradients(kernel, h, X, x_star)[..., entries, :], atol=1e-13
        )
        np.testing.assert_allclose(
            jet_prior(kernel, h, columns), jet_prior(kernel, h)[..., entries, :][..., :, entries]
        )
