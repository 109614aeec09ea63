import numpy as np
import pytest
import scipy.linalg

from xstar.numerics import arrays
from xstar.numerics.arrays import (
    add_diagonal,
    chunks,
    erfcx,
    in_chunks,
    inverse_from_cholesky,
    move,
    scatter_rows,
    solve_lower,
    take_rows,
    top_k,
)


def test_namespace_of_plain_values_is_numpy():
    assert arrays.namespace([1.0], 2) == arrays.namespace(np.zeros(1))


def test_top_k_is_ordered_and_ties_go_to_the_lower_index(backend):
    x = backend.array([[1.0, 5.0, 5.0, -2.0], [0.0, -1.0, 3.0, 3.0]])
    np.testing.assert_array_equal(backend.numpy(top_k(x, 3)), [[1, 2, 0], [2, 3, 0]])


def test_scatter_and_take_rows(backend, rng):
    target, values = rng.random((5, 2)), rng.random((2, 2))
    rows = np.array([3, 1])
    expected = target.copy()
    expected[rows] = values
    result = scatter_rows(backend.array(target), rows, backend.array(values))
    np.testing.assert_array_equal(backend.numpy(result), expected)
    np.testing.assert_array_equal(backend.numpy(take_rows(result, rows)), values)


def test_chunks_cover_everything_once():
    covered = [i for block in chunks(1000, arrays.BLOCK_ELEMENTS // 7) for i in range(block.start, block.stop)]
    assert covered == list(range(1000))
    assert list(chunks(0, 10)) == [slice(0, 0)]


def test_chunking_changes_nothing(backend, rng, monkeypatch):
    x = backend.array(rng.random((2, 50, 3)))

    def function(points):
        return backend.xp.sum(points, axis=-1), points * 2.0

    whole = function(x)
    monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", 12)
    pieces = in_chunks(function, x, 3, (-1, -2))
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(backend.numpy(one), backend.numpy(other))


def test_erfcx_is_the_same_everywhere(backend):
    x = np.linspace(0.0, 50.0, 101)
    np.testing.assert_allclose(backend.numpy(erfcx(backend.array(x))), scipy.special.erfcx(x), rtol=1e-14)


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("transpose", [False, True])
def test_solve_lower_over_a_batch(backend, rng, n, transpose):
    factor = np.tril(rng.standard_normal((3, 1, n, n))) + 3.0 * np.eye(n)
    right = rng.standard_normal((2, n, 4))
    result = backend.numpy(solve_lower(backend.array(factor), backend.array(right), transpose=transpose))
    assert result.shape == (3, 2, n, 4)
    for i in range(3):
        for j in range(2):
            expected = scipy.linalg.solve_triangular(factor[i, 0], right[j], lower=True, trans=int(transpose))
            np.testing.assert_allclose(result[i, j], expected, rtol=1e-9, atol=1e-12)


def test_solve_lower_of_nothing(backend):
    empty = solve_lower(backend.array(np.zeros((2, 0, 0))), backend.array(np.zeros((2, 0, 3))))
    assert empty.shape == (2, 0, 3)


@pytest.mark.parametrize("n", [0, 1, 6, 40])
def test_inverse_from_a_factor(backend, rng, n):
    root = rng.standard_normal((2, 3, n, n))
    matrix = root @ np.swapaxes(root, -1, -2) + np.eye(n)
    result = backend.numpy(inverse_from_cholesky(backend.array(np.linalg.cholesky(matrix))))
    np.testing.assert_allclose(result, np.linalg.inv(matrix), rtol=1e-8, atol=1e-11)


def test_add_diagonal_over_a_batch(backend, rng):
    matrix, values = rng.random((3, 4, 4)), rng.random((3, 4))
    expected = matrix + values[..., None] * np.eye(4)
    np.testing.assert_allclose(backend.numpy(add_diagonal(backend.array(matrix), backend.array(values))), expected)
    shared = backend.numpy(add_diagonal(backend.array(matrix[0]), backend.array(values)))
    np.testing.assert_allclose(shared, matrix[0] + values[..., None] * np.eye(4))


def test_move_makes_floats_double_and_keeps_integers(backend):
    like = backend.array([0.0])
    assert move(np.zeros(2, dtype=np.float32), like).dtype == backend.xp.float64
    assert move(np.arange(2), like).dtype == backend.xp.int64
