"""What may be varied: parameters in the user's units, and their place in the unit cube.

    Space(lr=Real(1e-5, 1e-1, log=True), layers=Integer(1, 6), activation=Categorical(["relu", "gelu"]))

This module is the only one that knows user units. Columns are in the order of the names, so that the order in which
parameters are declared changes nothing. A parameter with equal bounds is fixed and has no column.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from xstar.errors import SpaceError
from xstar.numerics.arrays import HostArray
from xstar.search.domain import Block, Choice, Domain, Interval, Lattice, Pinned


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
    """A number between `low` and `high`, both included; searched by its logarithm if `log`.

    With a `step`, only low, low + step, low + 2 step, ... are legal.
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
            return np.atleast_1d(self._lattice.place((value - self.low) / self.step))
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


ON_LATTICE = 1e-8
"""A value this close to a step, in steps, is one."""


@dataclass(frozen=True)
class Integer(Parameter):
    """A whole number from `low` to `high`, both included; searched by its logarithm if `log`.

    With a `step`, only low, low + step, low + 2 step, ... are legal.
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
        return np.atleast_1d(self._lattice.place(float(value - self.low) / self.step))

    def decode(self, columns: HostArray) -> int:
        level = int(self._lattice.index(columns[0]))
        return min(self.low + level * self.step, self.high)

    def contains(self, value: int) -> bool:
        return self.low <= value <= self.high and (value - self.low) % self.step == 0


@dataclass(frozen=True, eq=False)
class Categorical(Parameter):
    """One of some alternatives without an order: strings, numbers, None, or anything else."""

    choices: Any
    """A list or another sequence; kept as a tuple."""

    def __post_init__(self) -> None:
        if isinstance(self.choices, Iterable) and not isinstance(self.choices, str | bytes):
            object.__setattr__(self, "choices", tuple(_plain(choice) for choice in self.choices))

    def check(self, name: str) -> None:
        if not isinstance(self.choices, tuple) or not self.choices:
            raise SpaceError(
                f'parameter "{name}" needs a list of choices, for example Categorical(["relu", "gelu"]); received '
                f"{self.choices!r}."
            )
        for k, choice in enumerate(self.choices):
            if any(_same(choice, other) for other in self.choices[:k]):
                raise SpaceError(f'parameter "{name}" has the choice {choice!r} twice.')

    @property
    def block(self) -> Block | None:
        return None if len(self.choices) == 1 else Choice(len(self.choices))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categorical):
            return NotImplemented
        return len(self.choices) == len(other.choices) and all(map(_same, self.choices, other.choices))

    def __hash__(self) -> int:
        return hash(len(self.choices))

    def index(self, value: Any) -> int | None:
        """The position of a choice; None if it is not one."""
        plain = _plain(value)
        return next((k for k, choice in enumerate(self.choices) if _same(choice, plain)), None)

    def accept(self, value: Any, name: str) -> Any:
        place = self.index(value)
        if place is None:
            raise SpaceError(f'parameter "{name}" is one of {list(self.choices)!r}; received {value!r}.')
        return self.choices[place]

    def encode(self, value: Any) -> HostArray:
        return Choice(len(self.choices)).place(np.asarray(self.index(value)))

    def decode(self, columns: HostArray) -> Any:
        return self.choices[int(Choice(len(self.choices)).index(columns))]

    def contains(self, value: Any) -> bool:
        return self.index(value) is not None


class Space:
    """Named parameters.

    Names that are no Python identifiers go into a dictionary: `Space({"learning rate": Real(0, 1)})`.
    """

    def __init__(self, parameters: Mapping[str, Parameter] | None = None, /, **named: Parameter) -> None:
        if parameters is not None and not isinstance(parameters, Mapping):
            raise SpaceError(f"Space takes parameters by name, for example Space(x=Real(0, 1)); {_got(parameters)}")
        both = sorted(set(parameters or {}) & set(named))
        if both:
            raise SpaceError(f'parameter "{both[0]}" is given twice.')
        self.parameters: dict[str, Parameter] = {**(parameters or {}), **named}
        self.positional = False
        if not self.parameters:
            raise SpaceError("a space needs at least one parameter, for example Space(x=Real(0, 1)).")
        for name, parameter in self.parameters.items():
            if not isinstance(cast("Any", name), str) or not name:
                raise SpaceError(f"parameter names are strings that are not empty; received {name!r}.")
            if not isinstance(parameter, Parameter):
                raise SpaceError(
                    f'parameter "{name}" must be a Real, an Integer or a Categorical, for example Real(0, 1); '
                    f"received {parameter!r}."
                )
            parameter.check(name)

    @classmethod
    def of(cls, spec: Any) -> Space:
        """A space from a space, a dictionary, or SciPy-style bounds: a list of (low, high) pairs or of parameters.

        Parameters of a list are named x0, x1, ...
        """
        if isinstance(spec, Space):
            return spec
        if isinstance(spec, Mapping):
            return cls(spec)
        if isinstance(spec, str | bytes) or not isinstance(spec, Iterable):
            raise SpaceError(f"a space is a Space, a dictionary, or a list of (low, high) pairs; {_got(spec)}")
        parameters: dict[str, Parameter] = {}
        for k, bounds in enumerate(spec):
            if isinstance(bounds, Parameter):
                parameters[f"x{k}"] = bounds
                continue
            try:
                low, high = bounds
            except (TypeError, ValueError) as error:
                raise SpaceError(f"bounds[{k}] must be a pair (low, high) or a parameter; {_got(bounds)}") from error
            parameters[f"x{k}"] = Real(low, high)
        space = cls(parameters)
        space.positional = True
        return space

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        mine, theirs = list(self.parameters.items()), list(other.parameters.items())
        return self.positional == other.positional and mine == theirs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={parameter!r}" for name, parameter in self.parameters.items())
        return f"Space({inside})"

    @cached_property
    def free(self) -> tuple[str, ...]:
        """The names of the parameters that vary, sorted: the order of the blocks of the domain."""
        return tuple(sorted(name for name, parameter in self.parameters.items() if parameter.block is not None))

    @cached_property
    def domain(self) -> Domain:
        """The legal points of the cube. If everything is fixed, one column with one value stands for the point."""
        blocks = [block for name in self.free if (block := self.parameters[name].block) is not None]
        return Domain(tuple(blocks) or (Lattice(1),))

    def pin(self, fixed: Mapping[str, Any]) -> Domain:
        """The points that have some accepted values."""
        blocks = [
            Pinned(tuple(self.parameters[name].encode(fixed[name]).tolist())) if name in fixed else block
            for name, block in zip(self.free, self.domain.blocks, strict=False)
        ]
        return Domain(tuple(blocks)) if blocks else self.domain

    def accept_some(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Some parameters with their proper types."""
        for name in params:
            if name not in self.parameters:
                raise SpaceError(f"the parameters are {list(self.parameters)}; there is no parameter {name!r}.")
        return {name: self.parameters[name].accept(value, name) for name, value in params.items()}

    def accept(self, params: Any) -> dict[str, Any]:
        """Complete parameters with their proper types, from a dictionary or, for bounds, a sequence."""
        if self.positional and not isinstance(params, Mapping):
            params = self._by_position(params)
        if not isinstance(params, Mapping):
            raise SpaceError(
                f"parameters are given as a dictionary with the names {list(self.parameters)}; {_got(params)}"
            )
        missing = [name for name in self.parameters if name not in params]
        unknown = [name for name in params if name not in self.parameters]
        if missing or unknown:
            wrong = f"{missing[0]!r} is missing" if missing else f"there is no parameter {unknown[0]!r}"
            raise SpaceError(f"the parameters are {list(self.parameters)}; {wrong}.")
        accepted = {}
        for name, parameter in self.parameters.items():
            accepted[name] = parameter.accept(params[name], name)
            if parameter.block is None and not parameter.contains(accepted[name]):
                raise SpaceError(
                    f'parameter "{name}" is fixed at {parameter.decode(np.zeros(1))!r}; received {params[name]!r}. '
                    "Widen its range to use such data."
                )
        return accepted

    def _by_position(self, values: Any) -> dict[str, Any]:
        row = np.atleast_1d(np.asarray(values, dtype=object))
        if row.shape != (len(self.parameters),):
            raise SpaceError(f"a point has {len(self.parameters)} values; {_got(values)}")
        return dict(zip(self.parameters, row.tolist(), strict=True))

    def encode(self, params: Mapping[str, Any]) -> HostArray:
        """The row (d,) of accepted parameters."""
        parts = [self.parameters[name].encode(params[name]) for name in self.free]
        return np.concatenate(parts) if parts else np.array([0.5])

    def decode(self, row: HostArray) -> dict[str, Any]:
        """Legal parameters from a row (d,)."""
        columns = dict(zip(self.free, self.domain.columns, strict=False))
        return {
            name: parameter.decode(row[columns[name]] if name in columns else np.zeros(1))
            for name, parameter in self.parameters.items()
        }

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Whether accepted parameters are legal."""
        return all(parameter.contains(params[name]) for name, parameter in self.parameters.items())

    def same(self, params: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
        """Whether accepted parameters are equal, choices by their kind too."""
        return all(_same(params[name], others[name]) for name in self.parameters)


SpaceLike: TypeAlias = Space | Mapping[str, Parameter] | Sequence[tuple[float, float] | Parameter]
"""What `Space.of` makes a space of: a space, a dictionary of parameters, or a list of (low, high) pairs."""
Point: TypeAlias = Mapping[str, Any] | Sequence[Any] | HostArray
"""Parameters by name or, for bounds, by position."""


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


def _plain(value: Any) -> Any:
    """NumPy scalars as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _same(a: Any, b: Any) -> bool:
    """Equal, and of the same kind: 1, 1.0 and True are three choices. What cannot be compared equals itself."""
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except (TypeError, ValueError):
        return False


def _got(value: Any) -> str:
    text = repr(value)
    return f"received {text if len(text) <= 80 else text[:77] + '...'}."
