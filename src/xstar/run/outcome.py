"""What a function returns, and what is read of it."""

from __future__ import annotations

import dis
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, SupportsFloat, TypeAlias

from xstar.errors import DataError
from xstar.goals import Goals
from xstar.trial import Value

Measured: TypeAlias = SupportsFloat | Value | Mapping[str, Any] | tuple[SupportsFloat, float] | None
"""What an evaluation gives: a number, a `Value`, a dictionary of value and sd, or None for a failure; or several
outputs by name, each a number or a `Value`."""
Measurable: TypeAlias = Callable[[Any], Measured]
"""The function of a run: it takes a dictionary of parameters, or an array if the space is a list of bounds."""
EXPECTED = 'The function must return a number, xstar.Value(value, sd), or {"value": ..., "sd": ...}.'
"""What is said where something else comes."""
KEYS = ("value", "sd")


class Reader:
    """Reads what a function returns; what may be a misunderstanding is said once."""

    def __init__(self, goals: Goals | None = None) -> None:
        self._goals = goals
        self._said: set[str] = set()
        self._numbers = False  # whoever has returned some means it if he returns none

    @property
    def expected(self) -> str:
        """What is said where something else comes."""
        if self._goals is None:
            return EXPECTED
        names = ", ".join(f'"{name}": ...' for name in self._goals.names)
        return f"The function must return its outputs by name: {{{names}}}, each a number or xstar.Value(value, sd)."

    def read(self, returned: Any) -> tuple[Any, Any]:
        """Return the value and its standard deviation, or None where it is learned, as they were returned.

        Of several outputs, it is a dictionary of values, which may have their standard deviations with them.
        """
        named = self._goals is not None and (isinstance(returned, Mapping) or len(self._goals.names) > 1)
        if named and returned is not None:
            self._numbers = True
            return returned, None
        if isinstance(returned, Value):
            return returned.value, returned.sd
        if isinstance(returned, Mapping):
            return _of_dictionary(returned)
        if isinstance(returned, tuple) and len(returned) == 2:
            self._say(
                "pair",
                f"the function returned the pair {returned!r}, which is read as a value and the standard deviation of "
                "its noise. If that is meant, return xstar.Value(value, sd); if not, return one number to optimize.",
            )
            return returned[0], returned[1]
        if returned is None and not self._numbers:
            self._say(
                "none",
                "the function returned None, which counts as a failed evaluation. If it should have returned its "
                "value, a return statement is missing.",
            )
        self._numbers = self._numbers or returned is not None
        return returned, None

    def _say(self, kind: str, message: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            warnings.warn(message, UserWarning, stacklevel=3)


def _of_dictionary(returned: Mapping[str, Any]) -> tuple[Any, Any]:
    other = [key for key in returned if key not in KEYS]
    if other or "value" not in returned:
        wrong = f"{other[0]!r} is neither" if other else "there is no value"
        raise DataError(
            f'a dictionary that is returned has a "value" and maybe an "sd"; {wrong}. Several outputs are named by '
            "objectives= and constraints=."
        )
    return returned["value"], returned.get("sd")


def never_returns(function: Any) -> bool:
    """Whether a function of Python ends without a return statement, wherever it ends: such a one is not meant."""
    # Who writes a lambda that is None means it.
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if (
        code is None
        or code.co_name == "<lambda>"
        or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR | inspect.CO_COROUTINE)
    ):
        return False
    found, before = False, None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST" or (
            instruction.opname == "RETURN_VALUE" and before is not None and before.opname == "LOAD_CONST"
        ):
            constant = instruction if instruction.opname == "RETURN_CONST" else before
            assert constant is not None, "it is one of the two"
            if constant.argval is not None:
                return False
            found = True
        elif instruction.opname == "RETURN_VALUE":
            return False
        before = instruction
    return found
