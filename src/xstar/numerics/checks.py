"""Checks of what users pass in: each complaint names the argument, says what it received and what to do."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

import array_api_compat
import numpy as np

from xstar.errors import DataError, SettingsError
from xstar.numerics.arrays import Array, HostArray, device, namespace, on, to_numpy
from xstar.numerics.random import Generators


def floats(value: Any, name: str, like: Array | None = None, *, nan_allowed: bool = False) -> Array:
    """Return a copy of the value as a float64 array, in the namespace and on the device of `like` or its own.

    Lists and scalars become NumPy arrays when no `like` is given. A copy, so that what the caller does to the
    original later changes nothing here. Infinite values are refused, and NaN unless allowed.
    """
    anchor = value if like is None else like
    xp = namespace(anchor)
    where = device(anchor) if array_api_compat.is_array_api_obj(anchor) else None
    array = _converted(value, name, xp, where)
    wrong = xp.isinf(array) if nan_allowed else ~xp.isfinite(array)
    if bool(xp.any(wrong)):
        bad = int(xp.sum(xp.astype(wrong, xp.int64)))
        kind = "infinite" if nan_allowed else "NaN or infinite"
        raise DataError(
            f"{name} must be finite; received {bad} {kind} of {math.prod(array.shape)} values. Leave such rows out, or "
            "report them as failures."
        )
    return array


def _converted(value: Any, name: str, xp: Any, where: Any) -> Array:
    """A float64 copy of the value in a namespace and on a device."""
    try:
        if array_api_compat.is_array_api_obj(value) and namespace(value) == xp and xp is not namespace():
            if xp.isdtype(value.dtype, "complex floating"):
                raise TypeError("it is complex")
            if array_api_compat.is_torch_array(value):
                value = value.detach()
            return xp.asarray(value, dtype=xp.float64, device=where, copy=True)
        return xp.asarray(_host_copy(value), dtype=xp.float64, device=where)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"{name} must be numbers that form a regular array; received {_shown(value)} ({error})."
        ) from error


def _host_copy(value: Any) -> HostArray:
    if np.ma.is_masked(value):
        raise TypeError("it has masked entries")
    given = np.asarray(to_numpy(value))
    if given.dtype.kind not in "biuf":
        raise TypeError(f"its dtype is {given.dtype}")
    return np.array(given, dtype=np.float64)


def integer(value: Any, name: str, minimum: int) -> int:
    """Return a whole number from `minimum` on, or complain; neither True nor 3.0 is one."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError as error:
        raise SettingsError(f"{name} must be a whole number >= {minimum}; received {value!r}.") from error
    if number < minimum:
        raise SettingsError(f"{name} must be at least {minimum}; received {value!r}.")
    return number


def positive(value: Any, name: str, below: float = math.inf) -> float:
    """Return a finite number greater than zero and less than `below`, or complain."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not real or not 0.0 < as_float(value) < below:
        limit = "finite" if math.isinf(below) else f"< {below:g}"
        raise SettingsError(f"{name} must be a number > 0 and {limit}; received {value!r}.")
    return float(value)


def not_negative(value: Any, name: str, most: float = math.inf) -> float:
    """Return a finite number from zero to `most`, or complain."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not real or not 0.0 <= as_float(value) <= most or math.isinf(as_float(value)):
        limit = "finite" if math.isinf(most) else f"<= {most:g}"
        raise SettingsError(f"{name} must be a number >= 0 and {limit}; received {value!r}.")
    return float(value)


def share(value: Any, name: str) -> float:
    """A number greater than zero and not above one."""
    if positive(value, name) > 1.0:
        raise SettingsError(f"{name} must be a number > 0 and <= 1; received {value!r}.")
    return float(value)


def as_float(value: Any) -> float:
    """Return a real number as a float; infinite if it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def instance(value: Any, name: str, kind: type, example: str) -> None:
    """Complain about anything but an object of the given class."""
    if not isinstance(value, kind):
        raise SettingsError(f"{name} must be a {kind.__name__}, for example {example}; received {_shown(value)}.")


def generator(rng: Any, *, several: bool = False) -> None:
    """Complain about anything but a NumPy random generator; with `several`, one for each problem is as good."""
    if not (several and isinstance(rng, Generators)):
        instance(rng, "rng", np.random.Generator, "numpy.random.default_rng(0)")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def array_of(compute: Any) -> Array:
    """Return an array where the model is to be computed, for others to be put beside it."""
    try:
        return on(compute) if isinstance(compute, str) else on("")
    except (ImportError, ValueError, RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
        raise SettingsError(
            f'compute must be "numpy", "torch:cuda" or another device of torch, or "cupy"; received {compute!r} '
            f"({reason})."
        ) from error
