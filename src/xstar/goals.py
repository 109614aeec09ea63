"""What is wanted of several outputs: which are objectives and in which direction, which are constraints and how far.

    Goals.check({"yield": "maximize", "cost": "minimize"}, {"impurity": ("<=", 0.5)})

Every output is known by its name; objectives come first. A constraint is an output to be made large or small as far as
its bound, so each output has a direction, and inside larger is better for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xstar.direction import Direction
from xstar.errors import DataError, SettingsError
from xstar.space.parameters import is_finite
from xstar.trial import Value, check_sd, check_value

SENSES: Mapping[str, Direction] = {"<=": Direction.MINIMIZE, ">=": Direction.MAXIMIZE}


@dataclass(frozen=True)
class Objective:
    """An output that is to be as large or as small as possible.

    Parameters
    ----------
    direction : {"maximize", "minimize"}
        Which of them.
    reference : float, optional
        A value that is just no longer of interest: among several objectives, the hypervolume of a front is measured
        from there. By default it is just below the front that is expected.

    Raises
    ------
    SettingsError
        If one of them makes no sense.

    Examples
    --------
    >>> import xstar
    >>> xstar.Objective("minimize", reference=10.0).direction == "minimize"
    True
    """

    direction: str
    reference: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", Direction.parse(self.direction))
        if self.reference is not None:
            object.__setattr__(self, "reference", _number(self.reference, "reference"))


@dataclass(frozen=True)
class Constraint:
    """An output that is to stay within a bound.

    Parameters
    ----------
    sense : {"<=", ">="}
        Whether it is to be at most or at least the bound.
    bound : float
        In the user's units.

    Raises
    ------
    SettingsError
        If one of them makes no sense.

    Examples
    --------
    >>> import xstar
    >>> str(xstar.Constraint("<=", 0.5))
    '<= 0.5'
    """

    sense: str
    bound: float

    def __post_init__(self) -> None:
        if self.sense not in SENSES:
            raise SettingsError(f'a constraint is "<=" or ">=" a bound; received {self.sense!r}.')
        object.__setattr__(self, "bound", _number(self.bound, "the bound of a constraint"))

    def __str__(self) -> str:
        return f"{self.sense} {self.bound:g}"

    @property
    def direction(self) -> Direction:
        """In which direction the output is within the bound."""
        return SENSES[self.sense]

    def is_met(self, value: float) -> bool:
        """Return whether a value is within the bound."""
        return not self.direction.beats(self.bound, value)


@dataclass(frozen=True)
class Goals:
    """The objectives and constraints of a study, by name."""

    objectives: Mapping[str, Objective]
    constraints: Mapping[str, Constraint]

    @classmethod
    def check(cls, objectives: Any, constraints: Any) -> Goals:
        """Return goals, or complain about what makes no sense."""
        wanted, bounded = _named(objectives, "objectives"), _named(constraints or {}, "constraints")
        if not wanted:
            raise SettingsError('objectives must name at least one output, for example {"yield": "maximize"}.')
        both = [name for name in wanted if name in bounded]
        if both:
            raise SettingsError(
                f"output {both[0]!r} is an objective and a constraint; give one of them another name, and tell both."
            )
        return cls(
            {name: item if isinstance(item, Objective) else Objective(item) for name, item in wanted.items()},
            {name: _constraint(name, item) for name, item in bounded.items()},
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Of all outputs: objectives, then constraints."""
        return (*self.objectives, *self.constraints)

    @property
    def several(self) -> bool:
        """Whether there are several objectives."""
        return len(self.objectives) > 1

    @property
    def single(self) -> str:
        """The name of the only objective."""
        (name,) = self.objectives
        return name

    def direction(self, name: str) -> Direction:
        """Return in which direction an output is better."""
        output = self.objectives.get(name) or self.constraints[name]
        return Direction(output.direction)

    def known(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is given by output, if all of them are known."""
        unknown = [name for name in given if name not in self.names]
        if unknown:
            known = ", ".join(f'"{name}"' for name in self.names)
            raise DataError(f"there is no output {unknown[0]!r}; the outputs are {known}.")
        return given

    def read(
        self, values: Mapping[str, Any], sd: Mapping[str, Any] | None
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return the values told and their standard deviations, in the order of the outputs.

        NaN, infinite values and None are outputs that are missing.
        """
        self.known(values)
        self.known(sd or {})
        told: dict[str, float] = {}
        sds: dict[str, float] = {}
        for name in self.names:
            value, own = values.get(name), (sd or {}).get(name)
            if isinstance(value, Value):
                if own is not None and value.sd is not None:
                    raise DataError(f"sd of {name!r} is given twice: {value!r} has one, and sd has {own!r}.")
                own = value.sd if own is None else own
                value = value.value
            number = check_value(value)
            if number is not None:
                told[name] = number
                if own is not None:
                    sds[name] = check_sd(own, f"sd of {name!r}")
        return told, sds

    def are_met(self, values: Mapping[str, float]) -> bool:
        """Return whether values told are within all bounds; what is missing is not."""
        return all(name in values and item.is_met(values[name]) for name, item in self.constraints.items())

    def __str__(self) -> str:
        wanted = [f"{item.direction} {name}" for name, item in self.objectives.items()]
        return ", ".join([*wanted, *(f"{name} {item}" for name, item in self.constraints.items())])


def _named(outputs: Any, what: str) -> dict[str, Any]:
    if not isinstance(outputs, Mapping):
        raise SettingsError(f"{what} must be a dictionary of outputs by name; received {outputs!r}.")
    wrong = [name for name in outputs if not isinstance(name, str) or not name]
    if wrong:
        raise SettingsError(f"the name of an output is a text; {what} has {wrong[0]!r}.")
    return dict(outputs)


def _constraint(name: str, item: Any) -> Constraint:
    if isinstance(item, Constraint):
        return item
    if isinstance(item, tuple | list) and len(item) == 2:
        return Constraint(*item)
    raise SettingsError(f'constraint {name!r} must be a pair such as ("<=", 0.5); received {item!r}.')


def _number(value: Any, name: str) -> float:
    if not is_finite(value):
        raise SettingsError(f"{name} must be a finite number; received {value!r}.")
    return float(value)
