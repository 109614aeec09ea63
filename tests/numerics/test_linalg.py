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
    solve_positive,
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


SIZES = pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13, 20])


def solved(backend, matrix, right, least):
    return backend.numpy(solve_positive(*(backend.array(part) for part in (matrix, right, least))))


@SIZES
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_positive_definite_systems_are_solved_as_they_are(backend, rng, n, scale):
    matrix, right = scale * random_spd(rng, 30, n), rng.standard_normal((30, n))
    result = solved(backend, matrix, right, np.zeros(30))
    np.testing.assert_allclose(result, np.linalg.solve(matrix, right[..., None])[..., 0], rtol=1e-7)


@given(st.integers(1, 20), st.integers(0, 2**32 - 1), st.floats(0.0, 8.0))
def test_ill_conditioned_positive_definite_systems(n, seed, decades):
    """Eigenvalues over up to eight decades, in any directions: the backward error is that of rounding."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix = (rotation * 10.0 ** (-decades * rng.random(n))) @ rotation.T
    matrix, right = 0.5 * (matrix + matrix.T), rng.standard_normal(n)
    x = solve_positive(matrix[None], right[None], np.zeros(1))[0]
    residual = np.linalg.norm(matrix @ x - right) / (np.linalg.norm(matrix, 2) * np.linalg.norm(x))
    assert residual < 1e-12


def random_symmetric(rng, kind, count, n):
    """Matrices that are not positive definite, in all the ways that matter."""
    root = rng.standard_normal((count, n, n))
    symmetric = 0.5 * (root + np.swapaxes(root, -1, -2))
    if kind == "indefinite":
        return symmetric
    if kind == "negative definite":
        return -random_spd(rng, count, n)
    if kind == "no diagonal":
        return symmetric * (1.0 - np.eye(n))
    if kind == "singular":
        return root[..., :1] * np.swapaxes(root[..., :1], -1, -2) * rng.choice([-1.0, 1.0], (count, 1, 1))
    return symmetric * 10.0 ** rng.uniform(-4.0, 4.0, (count, 1, 1))


KINDS = ["indefinite", "negative definite", "no diagonal", "singular", "many scales"]


@SIZES
@pytest.mark.parametrize("kind", KINDS)
def test_elsewhere_a_positive_diagonal_is_added_and_it_is_bounded(backend, rng, kind, n):
    """P = A + E: the columns of P^{-1} give P, and E, within the bound of [GMW81, section 4.4.2.2]."""
    count = 20
    matrix = random_symmetric(rng, kind, count, n)
    largest = np.maximum(np.abs(matrix).max(axis=(-2, -1)), 1e-6)
    least = 1e-3 * largest
    units = np.repeat(np.eye(n)[None], count, axis=0).reshape(count * n, n)
    inverse = solved(backend, np.repeat(matrix, n, axis=0), units, np.repeat(least, n)).reshape(count, n, n)
    assert np.linalg.eigvalsh(0.5 * (inverse + np.swapaxes(inverse, -1, -2))).min() > 0.0
    added = np.linalg.inv(inverse) - matrix
    tolerance = 1e-6 * largest[:, None, None]
    diagonal = np.diagonal(added, axis1=-2, axis2=-1)
    assert np.all(np.abs(added - diagonal[..., None] * np.eye(n)) <= tolerance)
    assert np.all(diagonal >= -tolerance[..., 0])
    gamma = np.abs(np.diagonal(matrix, axis1=-2, axis2=-1)).max(axis=-1)
    off = np.abs(matrix * (1.0 - np.eye(n))).max(axis=(-2, -1))
    square = np.maximum(gamma, largest / max(1.0, np.sqrt(n * n - 1.0)))
    most = (off / np.sqrt(square) + (n - 1) * np.sqrt(square)) ** 2 + 2.0 * (gamma + (n - 1) * square) + least
    assert np.all(diagonal <= most[:, None] + tolerance[..., 0])


@given(st.sampled_from(KINDS), st.integers(1, 20), st.integers(0, 2**32 - 1), st.floats(-6.0, 2.0))
def test_the_solution_always_points_uphill_and_is_bounded(kind, n, seed, decades):
    """b . x > 0, and x is no longer than pivots above `least` and bounded columns of L allow."""
    rng = np.random.default_rng(seed)
    matrix, right = random_symmetric(rng, kind, 8, n), rng.standard_normal((8, n))
    bound = np.maximum(
        np.abs(np.diagonal(matrix, axis1=-2, axis2=-1)).max(axis=-1),
        np.abs(matrix).max(axis=(-2, -1)) / max(1.0, np.sqrt(n * n - 1.0)),
    )
    least = 10.0**decades * np.maximum(bound, 1e-6)
    x = solve_positive(matrix, right, least)
    assert np.isfinite(x).all()
    assert np.all(np.sum(right * x, axis=-1) > 0.0)
    # |L_ij| <= sqrt(bound / least), so that the entries of L^{-1} are at most (1 + that)^(n - 1).
    growth = (1.0 + np.sqrt(bound / least)) ** (n - 1)
    most = n * n * growth**2 / least * np.abs(right).max(axis=-1)
    assert np.all(np.abs(x).max(axis=-1) <= (1.0 + 1e-12) * most)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 6, 20])
def test_steps_are_not_much_longer_than_those_of_the_eigenvalues(rng, kind, n):
    """The usual way out of indefiniteness, |eigenvalues| kept above `least`: in the median, within a factor of 10."""
    matrix, right = random_symmetric(rng, kind, 400, n), rng.standard_normal((400, n))
    least = 1e-2 * np.abs(matrix).max(axis=(-2, -1))
    values, vectors = np.linalg.eigh(matrix)
    along = np.einsum("kji,kj->ki", vectors, right) / np.maximum(np.abs(values), least[:, None])
    ratio = np.linalg.norm(solve_positive(matrix, right, least), axis=-1) / np.linalg.norm(along, axis=-1)
    assert 0.1 < np.median(ratio) < 10.0


def test_one_system_does_not_touch_the_next(backend, rng):
    matrix, right = random_symmetric(rng, "indefinite", 6, 4), rng.standard_normal((6, 4))
    matrix[2], right[2] = 0.0, 0.0
    matrix[3] = np.nan
    together = solved(backend, matrix, right, np.full(6, 0.1))
    np.testing.assert_array_equal(together[2], 0.0)
    assert np.isnan(together[3]).all()
    for k in (0, 1, 4, 5):
        alone = solved(backend, matrix[k : k + 1], right[k : k + 1], np.full(1, 0.1))
        np.testing.assert_allclose(together[k], alone[0], rtol=1e-12)


def test_a_system_of_one_is_a_division(backend):
    result = solved(backend, [[[4.0]], [[-4.0]], [[0.0]]], [[2.0], [2.0], [2.0]], [1.0, 1.0, 1.0])
    np.testing.assert_allclose(result[:, 0], [0.5, 0.5, 2.0])
