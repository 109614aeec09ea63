"""One thing that may be varied: its legal values in the user's units, and their place in the unit cube."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from xstar.errors import SpaceError
from xstar.numerics.arrays import HostArray
from xstar.search.domain import Block, Choice, Interval, Lattice

ON_LATTICE = 1e-8
"""A value this close to a step, in steps, is one."""


class Parameter(ABC):
    """One thing that may be varied."""

    @abstractmethod
    def check(self, name: str) -> None:
        """Complain, by its name, about a parameter that makes no sense."""

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


@dataclass(frozen=True)
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

    def __post_init__(self) -> None:
        for end in ("low", "high", "step"):
            value = getattr(self, end)
            if _is_finite(value):
                object.__setattr__(self, end, float(value))

    def check(self, name: str) -> None:
        for end in ("low", "high"):
            value = getattr(self, end)
            if not _is_finite(value):
                raise SpaceError(f'parameter "{name}" needs finite numbers as bounds; received {end}={value!r}.')
        _check_order(self, name)
        if self.log and self.low <= 0.0:
            raise SpaceError(
                f'parameter "{name}" has log=True but low={self.low!r}; a logarithmic range must start above zero, '
                "for example Real(1e-6, 0.1, log=True)."
            )
        if self.step is not None and (not _is_finite(self.step) or self.step <= 0.0):
            raise SpaceError(f'parameter "{name}" needs a step above zero; received step={self.step!r}.')
        if self.step is not None and self.log:
            raise SpaceError(f'parameter "{name}" has a step and log=True; it can have one of the two.')

    @property
    def block(self) -> Block | None:
        if self.step is not None:
            return None if self._lattice.levels == 1 else self._lattice
        return None if self.low == self.high else Interval()

    @cached_property
    def _lattice(self) -> Lattice:
        width, step = _decimal(self.high) - _decimal(self.low), _decimal(self.step)
        return Lattice(int(width // step) + 1)

    def accept(self, value: Any, name: str) -> float:
        if not _is_finite(value):
            raise SpaceError(f'parameter "{name}" needs a finite number; received {value!r}.')
        if self.log and value <= 0.0:
            raise SpaceError(f'parameter "{name}" has log=True, so its values are above zero; received {value!r}.')
        return float(value)

    def encode(self, value: float) -> HostArray:
        if self.step is not None:
            return np.atleast_1d(self._lattice.encode((value - self.low) / self.step))
        if self.log:
            start, end = math.log(self.low), math.log(self.high)
            # In the narrowest ranges both ends have the same logarithm.
            return np.array([(math.log(value) - start) / ((end - start) or 1.0)])
        # Halves, because the width of the widest ranges is not a finite number.
        return np.array([(value / 2 - self.low / 2) / ((self.high / 2 - self.low / 2) or 1.0)])

    def decode(self, columns: HostArray) -> float:
        u = float(columns[0])
        if self.step is not None:
            # In decimal, so that the third step of 0.1 is 0.3.
            return float(_decimal(self.low) + int(self._lattice.index(columns[0])) * _decimal(self.step))
        if self.log:
            value = math.exp(math.log(self.low) * (1.0 - u) + math.log(self.high) * u)
        else:
            value = self.low * (1.0 - u) + self.high * u
        return min(max(value, self.low), self.high)

    def contains(self, value: float) -> bool:
        if self.step is not None:
            level = (value - self.low) / self.step
            return abs(level - round(level)) < ON_LATTICE and 0 <= round(level) < self._lattice.levels
        return self.low <= value <= self.high


@dataclass(frozen=True)
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

    def __post_init__(self) -> None:
        for end in ("low", "high", "step"):
            value = _whole(getattr(self, end))
            if value is not None:
                object.__setattr__(self, end, value)

    def check(self, name: str) -> None:
        for end in ("low", "high"):
            value = getattr(self, end)
            if _whole(value) is None:
                raise SpaceError(f'parameter "{name}" needs whole numbers as bounds; received {end}={value!r}.')
        _check_order(self, name)
        if self.log and self.low < 1:
            raise SpaceError(
                f'parameter "{name}" has log=True but low={self.low}; a logarithmic range must start at 1 or above, '
                "for example Integer(1, 1000, log=True)."
            )
        if _whole(self.step) is None or self.step < 1:
            raise SpaceError(f'parameter "{name}" needs a whole number from 1 on as step; received {self.step!r}.')
        if self.step > 1 and self.log:
            raise SpaceError(f'parameter "{name}" has a step and log=True; it can have one of the two.')

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


@dataclass(frozen=True, eq=False)
class Categorical(Parameter):
    """One of some alternatives without an order.

    Parameters
    ----------
    choices : sequence
        Strings, numbers, None, or anything else; kept as a tuple.

    Examples
    --------
    >>> import xstar
    >>> xstar.Categorical(["relu", "gelu"]).index("gelu")
    1
    """

    choices: Any

    def __post_init__(self) -> None:
        if isinstance(self.choices, Iterable) and not isinstance(self.choices, str | bytes):
            object.__setattr__(self, "choices", tuple(plain(choice) for choice in self.choices))

    def check(self, name: str) -> None:
        if not isinstance(self.choices, tuple) or not self.choices:
            raise SpaceError(
                f'parameter "{name}" needs a list of choices, for example Categorical(["relu", "gelu"]); received '
                f"{self.choices!r}."
            )
        for k, choice in enumerate(self.choices):
            if any(same(choice, other) for other in self.choices[:k]):
                raise SpaceError(f'parameter "{name}" has the choice {choice!r} twice.')

    @property
    def block(self) -> Block | None:
        return None if len(self.choices) == 1 else Choice(len(self.choices))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categorical):
            return NotImplemented
        return len(self.choices) == len(other.choices) and all(map(same, self.choices, other.choices))

    def __hash__(self) -> int:
        return hash(len(self.choices))

    def index(self, value: Any) -> int | None:
        """The position of a choice; None if it is not one."""
        wanted = plain(value)
        return next((k for k, choice in enumerate(self.choices) if same(choice, wanted)), None)

    def accept(self, value: Any, name: str) -> Any:
        position = self.index(value)
        if position is None:
            raise SpaceError(f'parameter "{name}" is one of {list(self.choices)!r}; received {value!r}.')
        return self.choices[position]

    def encode(self, value: Any) -> HostArray:
        return Choice(len(self.choices)).encode(np.asarray(self.index(value)))

    def decode(self, columns: HostArray) -> Any:
        return self.choices[int(Choice(len(self.choices)).index(columns))]

    def contains(self, value: Any) -> bool:
        return self.index(value) is not None


def _check_order(parameter: Real | Integer, name: str) -> None:
    low, high, kind = parameter.low, parameter.high, type(parameter).__name__
    if low > high:
        raise SpaceError(
            f'parameter "{name}" has low={low!r} above high={high!r}; did you mean {kind}({high!r}, {low!r})?'
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def _is_finite(value: Any) -> bool:
    """A number that a float can hold."""
    try:
        return _is_number(value) and math.isfinite(value)
    except OverflowError:
        return False


def _whole(value: Any) -> int | None:
    """The value as an int if it is a whole number (3, 3.0), else None."""
    if not _is_finite(value) or int(value) != value:
        return None
    return int(value)


def _decimal(number: float | None) -> Decimal:
    """The number as it is written, so that 0.1 is a tenth."""
    return Decimal(repr(number))


def plain(value: Any) -> Any:
    """NumPy scalars as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def same(a: Any, b: Any) -> bool:
    """Equal, and of the same kind: 1, 1.0 and True are three choices. What cannot be compared equals itself."""
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except (TypeError, ValueError):
        return False
