"""Parameters that are one of some listed alternatives: without an order, or with one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xstar.errors import SpaceError
from xstar.numerics.arrays import HostArray
from xstar.numerics.rounding import with_digits
from xstar.search.domain import Block, Choice, Lattice
from xstar.space.parameters import Parameter, ParameterError, check_unit, is_finite

SAME_PLACE = 1e-9
"""Alternatives whose descriptors differ by less than this share of the widest difference are told apart by nothing."""


class Listed(Parameter):
    """One of some listed alternatives."""

    @property
    @abstractmethod
    def alternatives(self) -> tuple[Any, ...]:
        """All legal values."""

    @property
    @abstractmethod
    def _columns(self) -> Choice | Lattice:
        """Where they are in the cube."""

    @property
    def block(self) -> Block | None:
        return None if len(self.alternatives) == 1 else self._columns

    def text(self, value: Any) -> str:
        return with_digits(value, 15) if isinstance(value, float) else str(value)

    def index(self, value: Any) -> int | None:
        """The position of an alternative; None if it is not one."""
        wanted = plain(value)
        if not (_has_key(wanted) and self._by_key is not None):
            return next((k for k, choice in enumerate(self.alternatives) if same(choice, wanted)), None)
        return self._by_key.get((type(wanted), wanted))

    @cached_property
    def _by_key(self) -> dict[tuple[type, Any], int] | None:
        """The positions of alternatives that are all texts or numbers, so that thousands are found at once."""
        if not all(map(_has_key, self.alternatives)):
            return None
        return {(type(choice), choice): k for k, choice in enumerate(self.alternatives)}

    def accept(self, value: Any, name: str) -> Any:
        position = self.index(value)
        if position is None:
            raise SpaceError(f'parameter "{name}" is one of {list(self.alternatives)!r}; received {value!r}.')
        return self.alternatives[position]

    def encode(self, value: Any) -> HostArray:
        return np.atleast_1d(self._columns.encode(np.asarray(self.index(value))))

    def contains(self, value: Any) -> bool:
        return self.index(value) is not None


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Listed):
    """One of some alternatives without an order.

    Parameters
    ----------
    choices : sequence
        Strings, numbers, None, or anything else; kept as a tuple.
    descriptors : dict, optional
        Numbers that say how alike the choices are, such as the polarity and the boiling point of solvents: for each
        choice a list of numbers, or a dictionary of them by name; a table by choice of pandas does too. Each descriptor
        counts by its differences in units of its own spread; what is learned of a choice tells of those like it.
    unit : str, optional
        What the choices are measured in, for tables and pictures.

    Raises
    ------
    SpaceError
        If there is no choice, one is there twice, or the descriptors are not complete.

    Examples
    --------
    >>> import xstar
    >>> xstar.Categorical(["relu", "gelu"]).index("gelu")
    1
    >>> solvent = xstar.Categorical(
    ...     ["water", "methanol", "hexane"],
    ...     descriptors={"water": [10.2, 100], "methanol": [5.1, 65], "hexane": [0.1, 69]},
    ... )
    """

    choices: Any
    descriptors: Any = None
    unit: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", _listed(self, self.choices, 'Categorical(["relu", "gelu"])', "choice"))
        check_unit(self)
        if self.descriptors is not None:
            object.__setattr__(self, "descriptors", self._checked_descriptors())
            _ = self._points  # where they cannot tell two choices apart, that is said now

    @property
    def alternatives(self) -> tuple[Any, ...]:
        return tuple(self.choices)

    @cached_property
    def _columns(self) -> Choice:
        return Choice(len(self.choices), None if self.descriptors is None else self._points)

    def decode(self, columns: HostArray) -> Any:
        return self.choices[int(self._columns.index(columns))]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categorical):
            return NotImplemented
        alike = len(self.choices) == len(other.choices) and all(map(same, self.choices, other.choices))
        return alike and self.descriptors == other.descriptors and self.unit == other.unit

    def __hash__(self) -> int:
        return hash(len(self.choices))

    def _checked_descriptors(self) -> tuple[tuple[float, ...], ...]:
        """The descriptors as rows of numbers, in the order of the choices."""
        given = self.descriptors
        if hasattr(given, "loc") and hasattr(given, "index"):  # a data frame, by its rows
            given = {key: list(row) for key, row in zip(given.index, given.to_numpy().tolist(), strict=True)}
        if isinstance(given, Mapping):
            missing = [choice for choice in self.choices if choice not in given]
            if missing:
                raise ParameterError(self, f"has no descriptors for the choice {missing[0]!r}.")
            given = [given[choice] for choice in self.choices]
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise ParameterError(self, f"needs descriptors for each choice, as a dictionary; received {given!r}.")
        rows, names = [], None
        for choice, row in zip(self.choices, _as_many(self, list(given)), strict=True):
            if isinstance(row, Mapping):
                names = names or list(row)
                if set(names) != set(row):
                    raise ParameterError(self, f"has other descriptors for {choice!r} than for {self.choices[0]!r}.")
                row = [row[key] for key in names]  # noqa: PLW2901
            numbers = [row] if is_finite(row) else list(row) if isinstance(row, Iterable) else [row]
            if not numbers or not all(map(is_finite, numbers)):
                raise ParameterError(self, f"needs finite numbers as descriptors of {choice!r}; received {row!r}.")
            rows.append(tuple(float(number) for number in numbers))
        if len({len(row) for row in rows}) > 1:
            raise ParameterError(self, "needs equally many descriptors for all choices.")
        return tuple(rows)

    @cached_property
    def _points(self) -> tuple[tuple[float, ...], ...]:
        """Places of the choices whose distances are those of the descriptors, the largest of them 1."""
        table = np.array(self.descriptors)
        scale = np.max(np.abs(table), axis=0)
        table = table / np.where(scale > 0.0, scale, 1.0)  # the squares of the largest numbers are none
        spread = np.std(table, axis=0)
        telling = spread > SAME_PLACE
        table = (table[:, telling] - np.mean(table[:, telling], axis=0)) / spread[telling]
        # A rotation keeps all distances, and needs no more columns than there are choices less one.
        _, strength, axes = np.linalg.svd(table, full_matrices=False)
        kept = strength > SAME_PLACE * np.max(strength, initial=0.0)
        # The sign of an axis is arbitrary; so that it is the same everywhere, its largest entry is positive.
        axes = axes[kept]
        if axes.size:
            axes *= np.sign(axes[np.arange(len(axes)), np.argmax(np.abs(axes), axis=1)])[:, None]
        places = table @ axes.T
        apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
        widest = np.max(apart, initial=0.0)
        for k, choice in enumerate(self.choices):
            for other in range(k):
                if apart[k, other] <= SAME_PLACE * widest:
                    raise ParameterError(
                        self,
                        f"has the same descriptors for {self.choices[other]!r} and {choice!r}; leave one of the two "
                        "out, or add a descriptor that tells them apart.",
                    )
        places = (places - np.min(places, axis=0)) / (widest or 1.0)
        return tuple(map(tuple, places.tolist()))


@dataclass(frozen=True, eq=False, repr=False)
class Ordinal(Listed):
    """One of some levels in an order, such as 16, 32, 64: neighbors are alike, evenly spaced whatever their values.

    Parameters
    ----------
    levels : sequence
        Numbers, strings or anything else, from one end to the other; kept as a tuple.
    unit : str, optional
        What they are measured in, for tables and pictures.

    Raises
    ------
    SpaceError
        If there is no level, one is there twice, or they are numbers that go up and down.

    Examples
    --------
    >>> import xstar
    >>> xstar.Ordinal([16, 32, 64]).index(32)
    1
    """

    levels: Any
    unit: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _listed(self, self.levels, "Ordinal([16, 32, 64])", "level"))
        check_unit(self)
        if all(map(is_finite, self.levels)):
            rising = np.diff(np.array(self.levels, dtype=np.float64)) > 0
            if rising.any() and not rising.all():
                raise ParameterError(
                    self, f"has numbers that go up and down; write {sorted(self.levels)!r}, or use Categorical."
                )

    @property
    def alternatives(self) -> tuple[Any, ...]:
        return tuple(self.levels)

    @cached_property
    def _columns(self) -> Lattice:
        return Lattice(len(self.levels))

    def decode(self, columns: HostArray) -> Any:
        return self.levels[int(self._columns.index(columns[0]))]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ordinal):
            return NotImplemented
        alike = len(self.levels) == len(other.levels) and all(map(same, self.levels, other.levels))
        return alike and self.unit == other.unit

    def __hash__(self) -> int:
        return hash(len(self.levels))


def _listed(parameter: Listed, given: Any, example: str, kind: str) -> tuple[Any, ...]:
    """What was listed as a tuple; a complaint if it is no list, empty, or has something twice."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise ParameterError(parameter, f"needs a list of {kind}s, for example {example}; received {given!r}.")
    values = tuple(plain(value) for value in given)
    if not values:
        raise ParameterError(parameter, f"needs a list of {kind}s, for example {example}; received {given!r}.")
    known = {(type(value), value) for value in values if _has_key(value)}
    others = [value for value in values if not _has_key(value)]
    if len(known) + len(others) == len(values) and not any(
        same(value, other) for k, value in enumerate(others) for other in others[:k]
    ):
        return values
    for k, value in enumerate(values):
        if any(same(value, other) for other in values[:k]):
            raise ParameterError(parameter, f"has the {kind} {value!r} twice.")
    return values


def _has_key(value: Any) -> bool:
    """Whether two values are the same exactly if their types and they themselves are equal, hashes included."""
    return type(value) in (str, int, bool) or (type(value) is float and value == value)  # noqa: PLR0124


def _as_many(parameter: Categorical, rows: Sequence[Any]) -> Sequence[Any]:
    if len(rows) != len(parameter.choices):
        raise ParameterError(parameter, f"has {len(parameter.choices)} choices and descriptors for {len(rows)}.")
    return rows


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
