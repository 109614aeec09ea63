import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstar.numerics.linalg import (
    RELATIVE_JITTERS,
    extend_cholesky,
    log_determinant,
    safe_cholesky,
    solve_cholesky,
)


def random_spd(rng, *shape):
    root = rng.standard_normal((*shape, shape[-1]))
    return root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(shape[-1])


def test_a_healthy_batch_is_factored_exactly(backend, rng):
    matrix = random_spd(rng, 3, 2, 6)
    factor, jitter, found = safe_cholesky(backend.array(matrix))
    np.testing.assert_allclose(backend.numpy(factor), np.linalg.cholesky(matrix), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(backend.numpy(jitter), np.zeros((3, 2, 6)))
    assert backend.numpy(found).all()


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_one_bad_matrix_is_repaired_alone_and_relative_to_its_own_scale(backend, rng, scale):
    matrix = random_spd(rng, 4, 5)
    direction = np.ones((5, 1))
    matrix[2] = scale * (direction @ direction.T - 3e-9 * np.eye(5))
    factor, jitter, found = (backend.numpy(part) for part in safe_cholesky(backend.array(matrix)))
    assert found.all()
    np.testing.assert_array_equal(jitter[[0, 1, 3]], 0.0)
    healthy = matrix[[0, 1, 3]]
    np.testing.assert_array_equal(factor[[0, 1, 3]], backend.numpy(safe_cholesky(backend.array(healthy)).factor))
    assert np.all((3e-9 * scale < jitter[2]) & (jitter[2] < 3e-8 * scale))
    repaired = matrix[2] + np.diag(jitter[2])
    np.testing.assert_allclose(factor[2] @ factor[2].T, repaired, rtol=1e-7, atol=1e-14 * scale)


def test_a_hopeless_matrix_is_reported_not_raised(backend, rng):
    matrix = random_spd(rng, 3, 4)
    matrix[0] = -np.eye(4)
    matrix[1, 0, 0] = np.nan
    factor, jitter, found = (backend.numpy(part) for part in safe_cholesky(backend.array(matrix)))
    np.testing.assert_array_equal(found, [False, False, True])
    assert np.isnan(factor[:2]).all()
    assert np.isfinite(factor[2]).all()
    np.testing.assert_array_equal(jitter[2], 0.0)


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_low_rank_matrices_always_get_a_factor(n, seed):
    root = np.random.default_rng(seed).standard_normal((n, 1))
    _, jitter, found = safe_cholesky(root @ root.T)
    assert bool(found)
    assert np.all(jitter <= RELATIVE_JITTERS[-1] * root[:, 0] ** 2)


def test_solve_and_determinant(backend, rng):
    matrix, right = random_spd(rng, 2, 30), rng.standard_normal((2, 30, 3))
    factor = safe_cholesky(backend.array(matrix)).factor
    solved = backend.numpy(solve_cholesky(factor, backend.array(right)))
    np.testing.assert_allclose(solved, np.linalg.solve(matrix, right), rtol=1e-8)
    np.testing.assert_allclose(backend.numpy(log_determinant(factor)), np.linalg.slogdet(matrix)[1], rtol=1e-10)


@pytest.mark.parametrize("n, k", [(0, 3), (1, 1), (7, 2), (30, 5)])
def test_an_extended_factor_is_the_factor_of_the_whole(backend, rng, n, k):
    matrix = random_spd(rng, 2, n + k)
    factor = safe_cholesky(backend.array(matrix[:, :n, :n])).factor
    longer = extend_cholesky(factor, backend.array(matrix[:, :n, n:]), backend.array(matrix[:, n:, n:]))
    np.testing.assert_allclose(backend.numpy(longer.factor), np.linalg.cholesky(matrix), rtol=1e-8, atol=1e-10)


def test_an_empty_matrix_has_an_empty_factor(backend):
    factor, jitter, found = safe_cholesky(backend.array(np.zeros((2, 0, 0))))
    assert factor.shape == (2, 0, 0)
    assert jitter.shape == (2, 0)
    assert found.shape == (2,)


def test_jitter_relative_to_a_given_scale(backend):
    """A Schur complement that is nothing but rounding is repaired on the scale of what it is a remainder of."""
    remainder = backend.array([[-1e-16, 0.0], [0.0, 3e-17]])
    assert not bool(safe_cholesky(remainder).found)
    factor, jitter, found = safe_cholesky(remainder, scale=backend.array([1.0, 4.0]))
    assert bool(found)
    np.testing.assert_allclose(backend.numpy(jitter), [1e-13, 4e-13])
    np.testing.assert_allclose(np.diag(backend.numpy(factor)) ** 2, [1e-13, 4e-13], rtol=1e-2)
