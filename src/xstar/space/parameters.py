"""One thing that may be varied: its legal values in the user's units, and their place in the unit cube.

A parameter that makes no sense fails where it is written; its name is not known there, so `naming` adds it where it is.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cached_property
from typing import Any, cast

import numpy as np

from xstar.errors import SpaceError
from xstar.numerics.arrays import HostArray
from xstar.numerics.rounding import to_resolution, with_digits
from xstar.search.domain import Block, Interval, Lattice

ON_LATTICE = 1e-8
"""A value this close to a step, in steps, is one."""
FINEST = 1e-9
"""Floats that are farther apart than this share of a range are steps in it: points between them are none."""
STRAIGHT = 1e-5
"""A logarithm over a range whose ends differ by no more than this share is a straight line to rounding."""
MOST_STEPS = 1e15
"""Of a range: floats tell no more apart."""
SHOWN = 1e-4
"""Differences that are smaller than this share of a range are not shown."""
DIGITS = 4
"""Significant digits that are shown of a parameter that is searched by its logarithm."""
BY_POSITION = ("low", "high", "choices", "levels")
"""Settings that are written without their names."""


class ParameterError(SpaceError):
    """A parameter that makes no sense, before its name is known."""

    def __init__(self, parameter: object, complaint: str) -> None:
        super().__init__(f"{parameter!r} {complaint}")
        self.complaint = complaint


@contextmanager
def naming(name: str) -> Iterator[None]:
    """What is wrong with a parameter that is made here is said by its name."""
    try:
        yield
    except ParameterError as error:
        raise SpaceError(f'parameter "{name}" {error.complaint}') from error


class Parameter(ABC):
    """One thing that may be varied."""

    unit: str | None

    def __repr__(self) -> str:
        """As it is written: settings that were left out are left out."""
        parts = []
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if item.name in BY_POSITION:
                parts.append(repr(list(value) if isinstance(value, tuple) else value))
            elif value != item.default:
                parts.append(f"{item.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def __getstate__(self) -> dict[str, Any]:
        """Its settings: what was computed from them meanwhile is no part of it, for a copy or a hash."""
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]

    def show(self, value: Any, unit: bool = True) -> str:
        """Return a value as a person writes it: rounded to what it means in its range, and with its unit.

        Parameters
        ----------
        value : object
            An accepted value.
        unit : bool
            Whether the unit is written behind it, if there is one.

        Returns
        -------
        str

        Examples
        --------
        >>> import xstar
        >>> xstar.Real(20, 90, unit="°C").show(55.123456)
        '55.12 °C'
        """
        text = self.text(value)
        return text if self.unit is None or not unit else f"{text} {self.unit}"

    @abstractmethod
    def text(self, value: Any) -> str:
        """The value in words, without its unit."""

    @property
    @abstractmethod
    def block(self) -> Block | None:
        """Its part of the cube; None if it is fixed."""

    @abstractmethod
    def accept(self, value: Any, name: str) -> Any:
        """The value with its proper Python type; it may lie outside the bounds, as data from elsewhere do."""

    @abstractmethod
    def encode(self, value: Any) -> HostArray:
        """The columns of an accepted value."""

    @abstractmethod
    def decode(self, columns: HostArray) -> Any:
        """The legal value nearest to some columns."""

    @abstractmethod
    def contains(self, value: Any) -> bool:
        """Whether an accepted value is legal."""


@dataclass(frozen=True, repr=False)
class Real(Parameter):
    """A number between two bounds, both included.

    Parameters
    ----------
    low, high : float
        The bounds. If they are equal, the parameter is fixed.
    log : bool
        Whether it is searched by its logarithm: for ranges of several decades.
    step : float, optional
        If given, only low, low + step, low + 2 step, ... are legal.
    unit : str, optional
        What it is measured in, for tables and pictures.

    Raises
    ------
    SpaceError
        If these make no sense.

    Examples
    --------
    >>> import xstar
    >>> xstar.Space(lr=xstar.Real(1e-5, 1e-1, log=True), dropout=xstar.Real(0.0, 0.5, step=0.05)).free
    ('dropout', 'lr')
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        for end in ("low", "high", "step"):
            value = getattr(self, end)
            if is_finite(value):
                object.__setattr__(self, end, float(value))
        for end in ("low", "high"):
            value = getattr(self, end)
            if not is_finite(value):
                raise ParameterError(self, f"needs finite numbers as bounds; received {end}={value!r}.")
        _check_settings(self)
        if self.log and self.low <= 0.0:
            raise ParameterError(
                self,
                f"has log=True but low={self.low!r}; a logarithmic range must start above zero, "
                "for example Real(1e-6, 0.1, log=True).",
            )
        if self.step is not None and (not is_finite(self.step) or self.step <= 0.0):
            raise ParameterError(self, f"needs a step above zero; received step={self.step!r}.")
        if self.step is not None and (self.high / 2 - self.low / 2) / self.step > MOST_STEPS / 2:
            raise ParameterError(self, f"has more than {MOST_STEPS:.0e} steps; leave the step out.")
        if self.step is not None and self.log:
            raise ParameterError(self, "has a step and log=True; it can have one of the two.")

    def text(self, value: Any) -> str:
        if self.step is not None:
            return with_digits(value, 15)
        if self.log or self.low == self.high:
            return with_digits(value, DIGITS)
        return to_resolution(value, SHOWN * (self.high / 2 - self.low / 2) * 2)

    @property
    def block(self) -> Block | None:
        if self._grain is not None:
            return None if self._lattice.levels == 1 else self._lattice
        return None if self.low == self.high else Interval()

    @cached_property
    def _grain(self) -> float | None:
        """The step; or that of floats, in a range so narrow that it has few of them."""
        if self.step is not None or self.low == self.high:
            return self.step
        spacing = math.ulp(max(abs(self.low), abs(self.high)))
        return spacing if spacing > FINEST * (self.high - self.low) else None

    @cached_property
    def _lattice(self) -> Lattice:
        if self.step is None:
            assert self._grain is not None, "only what has steps is a lattice"
            return Lattice(int((self.high - self.low) / self._grain) + 1)
        width, step = _decimal(self.high) - _decimal(self.low), _decimal(self.step)
        return Lattice(int(width // step) + 1)

    @property
    def _curved(self) -> bool:
        """Whether it is searched by a logarithm that differs from a straight line."""
        return self.log and self.high > self.low * (1.0 + STRAIGHT)

    def accept(self, value: Any, name: str) -> float:
        if not is_finite(value):
            raise SpaceError(f'parameter "{name}" needs a finite number; received {value!r}.')
        if self.log and value <= 0.0:
            raise SpaceError(f'parameter "{name}" has log=True, so its values are above zero; received {value!r}.')
        return float(value)

    def encode(self, value: float) -> HostArray:
        if self._grain is not None:
            return np.atleast_1d(self._lattice.encode((value - self.low) / self._grain))
        if self._curved:
            start, end = math.log(self.low), math.log(self.high)
            return np.array([(math.log(value) - start) / (end - start)])
        # Halves, because the width of the widest ranges is not a finite number.
        return np.array([(value / 2 - self.low / 2) / ((self.high / 2 - self.low / 2) or 1.0)])

    def decode(self, columns: HostArray) -> float:
        u = float(columns[0])
        if self.step is not None:
            # In decimal, so that the third step of 0.1 is 0.3.
            return float(_decimal(self.low) + int(self._lattice.index(columns[0])) * _decimal(self.step))
        if self._grain is not None:
            return min(self.low + float(self._lattice.index(columns[0])) * self._grain, self.high)
        if u in (0.0, 1.0):
            return self.high if u else self.low
        if self._curved:
            value = math.exp(math.log(self.low) * (1.0 - u) + math.log(self.high) * u)
        else:
            value = self.low * (1.0 - u) + self.high * u
        return min(max(value, self.low), self.high)

    def contains(self, value: float) -> bool:
        if self.step is not None:
            level = (value - self.low) / self.step
            inside = -1.0 < level < self._lattice.levels  # which nothing infinite is
            return inside and abs(level - round(level)) < ON_LATTICE and 0 <= round(level) < self._lattice.levels
        return self.low <= value <= self.high


@dataclass(frozen=True, repr=False)
class Integer(Parameter):
    """A whole number between two bounds, both included.

    Parameters
    ----------
    low, high : int
        The bounds. If they are equal, the parameter is fixed.
    log : bool
        Whether it is searched by its logarithm: for ranges of several decades.
    step : int
        Only low, low + step, low + 2 step, ... are legal.
    unit : str, optional
        What it is measured in, for tables and pictures.

    Raises
    ------
    SpaceError
        If these make no sense.

    Examples
    --------
    >>> import xstar
    >>> xstar.Integer(1, 6).contains(7)
    False
    """

    low: int
    high: int
    log: bool = False
    step: int = 1
    unit: str | None = None

    def __post_init__(self) -> None:
        for end in ("low", "high", "step"):
            value = _whole(getattr(self, end))
            if value is not None:
                object.__setattr__(self, end, value)
        for end in ("low", "high"):
            value = getattr(self, end)
            if _whole(value) is None:
                raise ParameterError(self, f"needs whole numbers as bounds; received {end}={value!r}.")
        _check_settings(self)
        if self.log and self.low < 1:
            raise ParameterError(
                self,
                f"has log=True but low={self.low}; a logarithmic range must start at 1 or above, "
                "for example Integer(1, 1000, log=True).",
            )
        if _whole(self.step) is None or self.step < 1:
            raise ParameterError(self, f"needs a whole number from 1 on as step; received {self.step!r}.")
        if self.step > 1 and self.log:
            raise ParameterError(self, "has a step and log=True; it can have one of the two.")

    def text(self, value: Any) -> str:
        return str(value)

    @property
    def block(self) -> Block | None:
        return None if self._lattice.levels == 1 else self._lattice

    @cached_property
    def _lattice(self) -> Lattice:
        return Lattice((self.high - self.low) // self.step + 1, self.low if self.log else None)

    def accept(self, value: Any, name: str) -> int:
        whole = _whole(value)
        if whole is None:
            raise SpaceError(f'parameter "{name}" needs a whole number; received {value!r}.')
        if self.log and whole < 1:
            raise SpaceError(f'parameter "{name}" has log=True, so its values are 1 or more; received {value!r}.')
        return whole

    def encode(self, value: int) -> HostArray:
        return np.atleast_1d(self._lattice.encode(float(value - self.low) / self.step))

    def decode(self, columns: HostArray) -> int:
        level = int(self._lattice.index(columns[0]))
        return min(self.low + level * self.step, self.high)

    def contains(self, value: int) -> bool:
        return self.low <= value <= self.high and (value - self.low) % self.step == 0


def _check_settings(parameter: Real | Integer) -> None:
    low, high, kind = parameter.low, parameter.high, type(parameter).__name__
    if low > high:
        raise ParameterError(parameter, f"has low={low!r} above high={high!r}; did you mean {kind}({high!r}, {low!r})?")
    if not isinstance(cast("Any", parameter.log), bool | np.bool_):
        raise ParameterError(parameter, f"needs log=True or log=False; received log={parameter.log!r}.")
    check_unit(parameter)


def check_unit(parameter: Parameter) -> None:
    """Complain about a unit that is none."""
    if parameter.unit is not None and (not isinstance(cast("Any", parameter.unit), str) or not parameter.unit.strip()):
        raise ParameterError(parameter, f'needs a text as unit, such as unit="°C"; received {parameter.unit!r}.')


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def is_finite(value: Any) -> bool:
    """A number that a float can hold."""
    try:
        return _is_number(value) and math.isfinite(value)
    except OverflowError:
        return False


def _whole(value: Any) -> int | None:
    """The value as an int if it is a whole number (3, 3.0), else None."""
    if not is_finite(value) or int(value) != value:
        return None
    return int(value)


def _decimal(number: float | None) -> Decimal:
    """The number as it is written, so that 0.1 is a tenth."""
    return Decimal(repr(number))
