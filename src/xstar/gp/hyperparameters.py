"""The hyperparameters of a GP.

Notation
    lengthscales    l_i, in units of the cube               (..., d)
    amplitude       gamma, prior standard deviation of f    (...)
    noise           standard deviation of an observation    (...)
    theta           the logarithms of all, in this order    (..., d + 2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.errors import SettingsError
from xstar.numerics.arrays import Array, HostArray, device, move, namespace, take_rows, to_numpy
from xstar.numerics.checks import floats

_NAMES = ("lengthscales", "amplitude", "noise")


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Lengthscales, amplitude and noise; their leading axes are broadcast against each other.

    Parameters
    ----------
    lengthscales : array_like of shape (..., d)
        One for each coordinate, in units of the cube.
    amplitude : array_like of shape (...)
        The prior standard deviation of f.
    noise : array_like of shape (...)
        The standard deviation of an observation; may be zero.

    Raises
    ------
    SettingsError
        If one is not positive, or the shapes do not fit each other.

    Examples
    --------
    >>> from xstar.gp import Hyperparameters
    >>> Hyperparameters([[0.3, 0.5], [0.2, 0.2]], amplitude=1.0, noise=0.1).batch_shape
    (2,)
    """

    lengthscales: Array
    amplitude: Array
    noise: Array

    def __post_init__(self) -> None:
        given = (self.lengthscales, self.amplitude, self.noise)
        anchor = next((value for value in given if hasattr(value, "shape")), None)
        lengthscales = _scale(self.lengthscales, "lengthscales", anchor)
        amplitude = _scale(self.amplitude, "amplitude", anchor)
        noise = _scale(self.noise, "noise", anchor, zero_allowed=True)
        if lengthscales.ndim == 0 or lengthscales.shape[-1] == 0:
            raise SettingsError(
                "lengthscales must have one entry per coordinate on its last axis, for example [0.3, 0.3] in two "
                f"dimensions; received shape {tuple(lengthscales.shape)}."
            )
        try:
            batch = np.broadcast_shapes(lengthscales.shape[:-1], amplitude.shape, noise.shape)
        except ValueError as error:
            raise SettingsError(
                "the leading axes of lengthscales, amplitude and noise must agree; received shapes "
                f"{tuple(lengthscales.shape)}, {tuple(amplitude.shape)} and {tuple(noise.shape)}."
            ) from error
        xp = namespace(lengthscales)
        object.__setattr__(self, "lengthscales", xp.broadcast_to(lengthscales, (*batch, lengthscales.shape[-1])))
        object.__setattr__(self, "amplitude", xp.broadcast_to(amplitude, batch))
        object.__setattr__(self, "noise", xp.broadcast_to(noise, batch))

    @classmethod
    def from_log(cls, theta: Array) -> Hyperparameters:
        """Make hyperparameters of the vector of logarithms (..., d + 2)."""
        values = namespace(theta).exp(theta)
        return cls._checked(values[..., :-2], values[..., -2], values[..., -1])

    @classmethod
    def _checked(cls, lengthscales: Array, amplitude: Array, noise: Array) -> Hyperparameters:
        """From parts that have been checked before: checks read values, which makes a GPU wait."""
        hyper = object.__new__(cls)
        for name, value in zip(_NAMES, (lengthscales, amplitude, noise), strict=True):
            object.__setattr__(hyper, name, value)
        return hyper

    def log(self) -> Array:
        """Return the vector of logarithms (..., d + 2); the last is -inf where the noise is zero."""
        xp = namespace(self.lengthscales)
        scales = xp.stack([self.amplitude, self.noise], axis=-1)
        with np.errstate(divide="ignore"):
            return xp.log(xp.concat([self.lengthscales, scales], axis=-1))

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.lengthscales.shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes."""
        return tuple(self.amplitude.shape)

    @property
    def variance(self) -> Array:
        """gamma^2, the prior variance of f."""
        return self.amplitude * self.amplitude

    @property
    def noise_variance(self) -> Array:
        """The variance of one observation's noise."""
        return self.noise * self.noise

    def like(self, x: Array) -> Hyperparameters:
        """Return the same in the namespace and on the device of x."""
        if namespace(self.amplitude) == namespace(x) and device(self.amplitude) == device(x):
            return self
        return self._checked(*(move(to_numpy(getattr(self, name)), x) for name in _NAMES))

    def expand(self) -> Hyperparameters:
        """Return the same with one more leading axis of length 1, behind the others: to go with (..., S, ·) arrays."""
        return self._checked(self.lengthscales[..., None, :], self.amplitude[..., None], self.noise[..., None])

    def spread(self, batch: tuple[int, ...]) -> Hyperparameters:
        """Broadcast to the leading axes `batch`."""
        xp = namespace(self.lengthscales)
        return self._checked(
            xp.broadcast_to(self.lengthscales, (*batch, self.dimension)),
            xp.broadcast_to(self.amplitude, batch),
            xp.broadcast_to(self.noise, batch),
        )

    def flatten(self, batch: tuple[int, ...] | None = None) -> Hyperparameters:
        """Broadcast to the leading axes `batch` (default: its own) and join them into one."""
        xp = namespace(self.lengthscales)
        whole = self if batch is None else self.spread(batch)
        rows = math.prod(whole.batch_shape)
        return self._checked(
            xp.reshape(whole.lengthscales, (rows, self.dimension)),
            xp.reshape(whole.amplitude, (rows,)),
            xp.reshape(whole.noise, (rows,)),
        )

    def reshaped(self, batch: tuple[int, ...]) -> Hyperparameters:
        """Return the same with other leading axes of the same size."""
        xp = namespace(self.lengthscales)
        return self._checked(
            xp.reshape(self.lengthscales, (*batch, self.dimension)),
            xp.reshape(self.amplitude, batch),
            xp.reshape(self.noise, batch),
        )

    def take(self, rows: HostArray) -> Hyperparameters:
        """Return those at the given positions of the first leading axis."""
        return self._checked(*(take_rows(getattr(self, name), rows) for name in _NAMES))


def _scale(value: Any, name: str, anchor: Array | None, *, zero_allowed: bool = False) -> Array:
    array = floats(value, name, like=anchor)
    xp = namespace(array)
    bad = array < 0.0 if zero_allowed else array <= 0.0
    if bool(xp.any(bad)):
        raise SettingsError(
            f"{name} must be {'>= 0' if zero_allowed else '> 0'} (a scale, not its logarithm); "
            f"received {float(xp.min(array))!r}."
        )
    return array
