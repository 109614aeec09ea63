"""Checked observations: what every GP computation starts from.

Notation
    X           points                                                         (..., n, d)
    y           values                                                         (..., n)
    noise_sd    standard deviation of each value, NaN where it is not known    (..., n)

Leading axes hold independent data sets of the same size. n may be 0: then the posterior is the prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.errors import DataError
from xstar.numerics.arrays import Array, HostArray, namespace, take_rows
from xstar.numerics.checks import floats


@dataclass(frozen=True)
class Observations:
    """Points, values and noise as float64 arrays of one namespace, with the same leading axes."""

    X: Array
    y: Array
    noise_sd: Array | None

    @classmethod
    def check(cls, X: Any, y: Any, noise_sd: Any = None) -> Observations:
        """Convert and check; every complaint names the argument and what it received."""
        X = check_points(X, "X")
        y = floats(y, "y", like=X)
        if y.ndim == 0 or y.shape[-1] != X.shape[-2]:
            raise DataError(
                f"y must have one value per row of X; received shape {tuple(y.shape)} for X of shape {tuple(X.shape)}."
            )
        sd = None if noise_sd is None else _check_noise(noise_sd, y)
        try:
            batch = np.broadcast_shapes(X.shape[:-2], y.shape[:-1], () if sd is None else sd.shape[:-1])
        except ValueError as error:
            raise DataError(
                f"the leading axes of X, y and noise_sd must agree; received shapes {tuple(X.shape)}, {tuple(y.shape)}"
                f"{'' if sd is None else f' and {tuple(sd.shape)}'}."
            ) from error
        xp = namespace(X)
        return cls(
            xp.broadcast_to(X, (*batch, *X.shape[-2:])),
            xp.broadcast_to(y, (*batch, y.shape[-1])),
            None if sd is None else xp.broadcast_to(sd, (*batch, sd.shape[-1])),
        )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes: independent data sets."""
        return tuple(self.X.shape[:-2])

    @property
    def count(self) -> int:
        """n."""
        return int(self.X.shape[-2])

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.X.shape[-1])

    def learned(self) -> Array:
        """Return 1 where the noise is the hyperparameter, 0 where it was given; shape (..., n)."""
        xp = namespace(self.y)
        if self.noise_sd is None:
            return xp.ones_like(self.y)
        return xp.astype(xp.isnan(self.noise_sd), self.y.dtype)

    def noise_variance(self, hyper_noise_variance: Array) -> Array:
        """Return the variance of each observation, for hyperparameters with leading axes (...); shape (..., n)."""
        xp = namespace(self.y)
        learned = hyper_noise_variance[..., None]
        if self.noise_sd is None:
            return xp.broadcast_to(learned, np.broadcast_shapes(learned.shape, self.y.shape))
        return xp.where(xp.isnan(self.noise_sd), learned, self.noise_sd * self.noise_sd)

    def expand(self) -> Observations:
        """Return the same with one more leading axis of length 1, behind the others."""
        sd = None if self.noise_sd is None else self.noise_sd[..., None, :]
        return Observations(self.X[..., None, :, :], self.y[..., None, :], sd)

    def flatten(self, batch: tuple[int, ...] | None = None) -> Observations:
        """Broadcast to the leading axes `batch` (default: its own) and join them into one."""
        xp = namespace(self.X)
        shape = self.batch_shape if batch is None else batch

        def join(x: Array, trailing: int) -> Array:
            tail = tuple(x.shape[x.ndim - trailing :])
            return xp.reshape(xp.broadcast_to(x, (*shape, *tail)), (math.prod(shape), *tail))

        return Observations(join(self.X, 2), join(self.y, 1), None if self.noise_sd is None else join(self.noise_sd, 1))

    def take(self, rows: HostArray) -> Observations:
        """Return the data sets at the given positions of the first leading axis."""
        sd = None if self.noise_sd is None else take_rows(self.noise_sd, rows)
        return Observations(take_rows(self.X, rows), take_rows(self.y, rows), sd)

    def alone(self, row: int) -> Observations:
        """Return the data set at a position of the first leading axis, without that axis."""
        sd = None if self.noise_sd is None else self.noise_sd[row, ...]
        return Observations(self.X[row, ...], self.y[row, ...], sd)

    def join(self, other: Observations) -> Observations:
        """Return these observations followed by others."""
        xp = namespace(self.X, other.X)
        batch = np.broadcast_shapes(self.batch_shape, other.batch_shape)
        mine, theirs = self._spread(batch), other._spread(batch)
        sd = None
        if mine.noise_sd is not None or theirs.noise_sd is not None:
            sd = xp.concat([mine._sd_or_unknown(), theirs._sd_or_unknown()], axis=-1)
        return Observations(xp.concat([mine.X, theirs.X], axis=-2), xp.concat([mine.y, theirs.y], axis=-1), sd)

    def _spread(self, batch: tuple[int, ...]) -> Observations:
        xp = namespace(self.X)
        return Observations(
            xp.broadcast_to(self.X, (*batch, *self.X.shape[-2:])),
            xp.broadcast_to(self.y, (*batch, self.count)),
            None if self.noise_sd is None else xp.broadcast_to(self.noise_sd, (*batch, self.count)),
        )

    def _sd_or_unknown(self) -> Array:
        if self.noise_sd is not None:
            return self.noise_sd
        return namespace(self.y).full_like(self.y, math.nan)


def check_points(
    X: Any, name: str, like: Array | None = None, dimension: int | None = None, *, table: bool = False
) -> Array:
    """Return points as a float64 array (..., n, d), or complain; a `table` has no leading axes."""
    points = floats(X, name, like=like)
    if table and points.ndim > 2:
        raise DataError(f"{name} must have shape (n, d); received {tuple(points.shape)}.")
    if points.ndim < 2 or points.shape[-1] == 0:
        hint = ""
        if points.ndim == 1:
            hint = " A single point is a row: [[0.1, 0.2]]; no points in d dimensions are numpy.zeros((0, d))."
        raise DataError(f"{name} must have shape (..., n, d) with d >= 1; received {tuple(points.shape)}.{hint}")
    if dimension is not None and points.shape[-1] != dimension:
        raise DataError(
            f"{name} must have {dimension} coordinates on its last axis; received shape {tuple(points.shape)}."
        )
    return points


def check_fit(points: Array, name: str, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common leading axes of points (..., n, d) and of what they are to be used with."""
    try:
        return np.broadcast_shapes(points.shape[:-2], batch)
    except ValueError as error:
        raise DataError(
            f"the leading axes of {name}, {tuple(points.shape[:-2])}, do not fit those here, {batch}; received "
            f"{name} of shape {tuple(points.shape)}."
        ) from error


def _check_noise(noise_sd: Any, y: Array) -> Array:
    xp = namespace(y)
    sd = floats(noise_sd, "noise_sd", like=y, nan_allowed=True)
    if sd.ndim == 0:
        sd = xp.broadcast_to(sd, (y.shape[-1],))
    if sd.shape[-1] != y.shape[-1]:
        raise DataError(
            f"noise_sd must have one entry per value of y; received shape {tuple(sd.shape)} for y of shape "
            f"{tuple(y.shape)}."
        )
    bad = int(xp.sum(xp.astype(sd < 0.0, xp.int64)))
    if bad:
        raise DataError(
            f"noise_sd must be >= 0, or NaN where the noise is to be learned; received {bad} negative entries."
        )
    return sd
