"""Named parameters, and where their values are in the unit cube.

    Space(lr=Real(1e-5, 1e-1, log=True), layers=Integer(1, 6), activation=Categorical(["relu", "gelu"]))

This package is the only place that knows user units. Columns are in the order of the names, so that the order in which
parameters are declared changes nothing. A parameter with equal bounds is fixed and has no column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from xstar.errors import SpaceError
from xstar.numerics.arrays import HostArray
from xstar.search.domain import Domain, Lattice, Pinned
from xstar.space.foreign import Bounds, got, is_bounds, pairs_of, parameter_of
from xstar.space.listed import same
from xstar.space.parameters import Parameter

FARTHEST = 1e6
"""Points of the cube that are farther away are taken to be here: they tell as little of it, and distances to them have
squares."""


class Space:
    """Named parameters.

    Parameters
    ----------
    parameters : dict of Parameter, optional
        For names that are no Python identifiers: `Space({"learning rate": Real(0, 1)})`.
    **named : Parameter
        The others. Instead of a parameter, any of what other libraries write is understood: a pair (0.0, 1.0),
        (1e-5, 0.1, "log-uniform") as in scikit-optimize, a list of choices, loguniform, uniform and randint of
        scipy.stats.

    Raises
    ------
    SpaceError
        If something else is given.

    Examples
    --------
    >>> import xstar
    >>> space = xstar.Space(lr=xstar.Real(1e-5, 1e-1, log=True), layers=xstar.Integer(1, 6))
    >>> space.contains({"lr": 0.01, "layers": 3})
    True
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        if parameters is not None and not isinstance(parameters, Mapping):
            raise SpaceError(f"Space takes parameters by name, for example Space(x=Real(0, 1)); {got(parameters)}")
        both = sorted(set(parameters or {}) & set(named))
        if both:
            raise SpaceError(f'parameter "{both[0]}" is given twice.')
        described: dict[Any, Any] = {**(parameters or {}), **named}
        self.positional = False
        if not described:
            raise SpaceError("a space needs at least one parameter, for example Space(x=Real(0, 1)).")
        for name in described:
            if not isinstance(name, str) or not name:
                raise SpaceError(f"parameter names are strings that are not empty; received {name!r}.")
        self.parameters: dict[str, Parameter] = {
            name: parameter_of(parameter, name) for name, parameter in described.items()
        }

    @classmethod
    def of(cls, spec: Any) -> Space:
        """Make a space of what describes one.

        Parameters
        ----------
        spec : Space, dict of Parameter, list of (low, high) pairs or of Parameter, or scipy.optimize.Bounds
            Parameters of a list are named x0, x1, ...; instead of a parameter, all that `Space` understands does.

        Returns
        -------
        Space
            The given one, if it is a space already.

        Raises
        ------
        SpaceError
            If it describes none.

        Examples
        --------
        >>> import xstar
        >>> xstar.Space.of([(0.0, 1.0), (-5.0, 5.0)]).free
        ('x0', 'x1')
        """
        if isinstance(spec, Space):
            return spec
        if isinstance(spec, Mapping):
            return cls(spec)
        if is_bounds(spec):
            spec = pairs_of(spec)
        if isinstance(spec, str | bytes) or not isinstance(spec, Iterable):
            raise SpaceError(f"a space is a Space, a dictionary, or a list of (low, high) pairs; {got(spec)}")
        space = cls({f"x{k}": parameter_of(described, f"x{k}", positional=True) for k, described in enumerate(spec)})
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
        if not isinstance(cast("Any", params), Mapping):
            raise SpaceError(f"some parameters are given as a dictionary by their names; {got(params)}")
        for name in params:
            if name not in self.parameters:
                raise SpaceError(f"the parameters are {list(self.parameters)}; there is no parameter {name!r}.")
        return {name: self.parameters[name].accept(value, name) for name, value in params.items()}

    def held(self, fixed: Mapping[str, Any] | None) -> dict[str, Any]:
        """Some parameters that a user holds at legal values."""
        held = self.accept_some({} if fixed is None else fixed)
        for name, value in held.items():
            if not self.parameters[name].contains(value):
                raise SpaceError(
                    f'parameter "{name}" cannot be held at {value!r}: it is not a legal value of '
                    f"{self.parameters[name]!r}. Widen its range, or tell such data instead of asking for them."
                )
        return held

    @cached_property
    def anywhere(self) -> dict[str, Any]:
        """Some legal point."""
        return self.decode(self.domain.snap(np.full(self.domain.dimension, 0.5)))

    def accept(self, params: Any) -> dict[str, Any]:
        """Complete parameters with their proper types, from a dictionary or, for bounds, a sequence."""
        if self.positional and not isinstance(params, Mapping):
            params = self._by_position(params)
        if not isinstance(params, Mapping):
            raise SpaceError(
                f"parameters are given as a dictionary with the names {list(self.parameters)}; {got(params)}"
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
            raise SpaceError(f"a point has {len(self.parameters)} values; {got(values)}")
        return dict(zip(self.parameters, row.tolist(), strict=True))

    def encode(self, params: Mapping[str, Any]) -> HostArray:
        """The row (d,) of accepted parameters."""
        parts = [self.parameters[name].encode(params[name]) for name in self.free]
        return np.clip(np.concatenate(parts), -FARTHEST, FARTHEST) if parts else np.array([0.5])

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

    def show(self, params: Mapping[str, Any]) -> str:
        """Return accepted parameters as a person writes them, rounded to what they mean in their ranges.

        Parameters
        ----------
        params : dict
            Some of the parameters.

        Returns
        -------
        str

        Examples
        --------
        >>> import xstar
        >>> xstar.Space(C=xstar.Real(1e-3, 1e3, log=True), k=xstar.Integer(1, 9)).show({"C": 999.9999999999998, "k": 3})
        'C = 1000, k = 3'
        """
        return ", ".join(f"{name} = {self.parameters[name].show(value)}" for name, value in params.items())

    def same(self, params: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
        """Whether accepted parameters are equal, choices by their kind too."""
        return all(same(params[name], others[name]) for name in self.parameters)


SpaceLike: TypeAlias = Space | Mapping[str, Any] | Sequence[Any] | Bounds
"""What `Space.of` makes a space of: a space, a dictionary of parameters, a list of pairs, bounds of SciPy."""
Point: TypeAlias = Mapping[str, Any] | Sequence[Any] | HostArray
"""Parameters by name or, for bounds, by position."""
