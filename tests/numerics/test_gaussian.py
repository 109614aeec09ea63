"""Against dense algebra and difference quotients; and what happens where a covariance has no factor."""

import numpy as np
import pytest
from scipy import stats

from tests.oracles import differences
from xstar.numerics.gaussian import PackedGaussian


def covariances(rng, b, n):
    roots = rng.standard_normal((b, n, n + 2))
    return roots @ np.swapaxes(roots, -1, -2) + 0.1 * np.eye(n)


def packed(gaussian, matrices):
    return matrices[:, gaussian.rows, gaussian.columns], np.einsum("bii->bi", matrices).copy()


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_density_and_gradient_against_dense_algebra(backend, rng, n):
    """n = 40 is beyond the size up to which a batch of small systems is solved at once."""
    K, y = covariances(rng, 3, n), rng.standard_normal((3, n))
    gaussian = PackedGaussian(n, backend.array(y))
    pairs, diagonal = packed(gaussian, K)
    arguments = backend.array(y), backend.array(pairs), backend.array(diagonal)
    value, slope = gaussian.log_density_and_gradient(*arguments)
    expected = [stats.multivariate_normal(np.zeros(n), K[k]).logpdf(y[k]) for k in range(3)]
    np.testing.assert_allclose(backend.numpy(value), expected, rtol=1e-9)
    np.testing.assert_allclose(backend.numpy(gaussian.log_density(*arguments)), expected, rtol=1e-9)
    inverse = np.linalg.inv(K)
    alpha = np.einsum("bij,bj->bi", inverse, y)
    by_pairs, by_diagonal = packed(gaussian, alpha[:, :, None] * alpha[:, None, :] - inverse)
    np.testing.assert_allclose(backend.numpy(slope.pairs), by_pairs, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(backend.numpy(slope.diagonal), 0.5 * by_diagonal, rtol=1e-6, atol=1e-8)


def test_the_gradient_is_that_of_the_density(rng):
    K, y = covariances(rng, 1, 4), rng.standard_normal((1, 4))
    gaussian = PackedGaussian(4, y)
    pairs, diagonal = packed(gaussian, K)

    def density(entries):
        return gaussian.log_density(y, entries[None, :6], entries[None, 6:])[0]

    _, slope = gaussian.log_density_and_gradient(y, pairs, diagonal)
    expected = differences.gradient(density, np.concatenate([pairs[0], diagonal[0]]))
    np.testing.assert_allclose(np.concatenate([slope.pairs[0], slope.diagonal[0]]), expected, rtol=1e-6, atol=1e-8)


def test_one_bad_matrix_leaves_its_neighbours_exact(backend, rng):
    """The second is singular and is repaired; the third is indefinite and has no density."""
    K, y = covariances(rng, 3, 3), rng.standard_normal((3, 3))
    K[1] = np.ones((3, 3))
    K[2] = np.diag([1.0, -1.0, 1.0])
    y[1] = 0.3
    gaussian = PackedGaussian(3, backend.array(y))
    arguments = [backend.array(part) for part in (y, *packed(gaussian, K))]
    value, slope = gaussian.log_density_and_gradient(*arguments)
    value, by_pairs, by_diagonal = (backend.numpy(part) for part in (value, *slope))
    assert value[0] == pytest.approx(stats.multivariate_normal(np.zeros(3), K[0]).logpdf(y[0]), rel=1e-12)
    assert np.isfinite(value[1])
    assert value[2] == -np.inf
    assert np.all(by_pairs[2] == 0.0)
    assert np.all(by_diagonal[2] == 0.0)
    np.testing.assert_array_equal(backend.numpy(gaussian.log_density(*arguments)), value)


def test_no_values_have_density_one(backend, capfd):
    gaussian = PackedGaussian(0, backend.array(np.zeros((2, 0))))
    empty = backend.array(np.zeros((2, 0)))
    value, slope = gaussian.log_density_and_gradient(empty, empty, empty)
    np.testing.assert_array_equal(backend.numpy(value), 0.0)
    assert slope.pairs.shape == slope.diagonal.shape == (2, 0)
    assert capfd.readouterr() == ("", "")
