import numpy as np
import pytest

from xstar.errors import DataError, SettingsError
from xstar.numerics.arrays import namespace
from xstar.numerics.checks import _converted, floats, integer, positive


def test_floats_keeps_namespace_and_makes_float64(backend):
    single = backend.xp.asarray([1.0, 2.0], dtype=backend.xp.float32)
    result = floats(single, "X")
    assert result.dtype == backend.xp.float64
    np.testing.assert_array_equal(backend.numpy(result), [1.0, 2.0])


def test_floats_moves_foreign_arrays_beside_like(backend):
    like = backend.array([0.0])
    np.testing.assert_array_equal(backend.numpy(floats(np.array([3.0]), "y", like=like)), [3.0])
    assert isinstance(floats(backend.array([3.0]), "y", like=np.zeros(1)), np.ndarray)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_floats_names_the_argument_with_values_that_are_not_finite(backend, bad):
    with pytest.raises(DataError, match=r"^y must be finite; received 1 NaN or infinite of 3 values"):
        floats(backend.array([1.0, bad, 2.0]), "y")


@pytest.mark.parametrize("bad", [[[1.0], [1.0, 2.0]], ["a", "b"], object()])
def test_floats_names_the_argument_that_is_not_numeric(bad):
    with pytest.raises(DataError, match=r"^X must be numbers that form a regular array; received"):
        floats(bad, "X")


def test_floats_is_a_copy(backend):
    original = backend.array([1.0, 2.0])
    copied = floats(original, "y")
    original[0] = 99.0
    np.testing.assert_array_equal(backend.numpy(copied), [1.0, 2.0])


def test_nan_may_be_allowed_but_never_infinity():
    assert np.isnan(floats([np.nan, 1.0], "sd", nan_allowed=True)[0])
    with pytest.raises(DataError, match="sd must be finite; received 1 infinite of 2 values"):
        floats([np.nan, np.inf], "sd", nan_allowed=True)


@pytest.mark.extras
def test_scalars_can_be_placed_on_another_device():
    """torch refuses to copy a zero-dimensional NumPy array to another device; its meta device stands in for a GPU."""
    import torch

    placed = _converted(1.0, "amplitude", namespace(torch.zeros(1)), torch.device("meta"))
    assert placed.device.type == "meta"


@pytest.mark.extras
def test_tensors_leave_their_graph():
    import torch

    assert not floats(torch.ones(2, dtype=torch.float64, requires_grad=True), "X").requires_grad


@pytest.mark.parametrize("value", [3, np.int64(3), np.array(3)])
def test_whole_numbers(value):
    assert integer(value, "count", 1) == 3


@pytest.mark.parametrize("value", [3.0, "3", True, None, np.bool_(True), [3]])
def test_what_is_not_a_whole_number(value):
    with pytest.raises(SettingsError, match="count must be a whole number >= 1; received"):
        integer(value, "count", 1)


@pytest.mark.parametrize("value", [0.0, -1, np.nan, np.inf, "1", True, None])
def test_what_is_not_a_positive_number(value):
    with pytest.raises(SettingsError, match="width must be a number > 0 and finite; received"):
        positive(value, "width")
    assert positive(np.float64(0.5), "width") == 0.5
