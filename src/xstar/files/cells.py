"""What a cell of a table says: a number, a choice, a failure, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from xstar.errors import DataError, SpaceError
from xstar.files.letters import armed
from xstar.files.problems import Problems
from xstar.files.written_numbers import WITH_COMMA, NumberFormat, same_unit
from xstar.space import Integer, Listed, Parameter, Real, Space
from xstar.trial import check_sd, check_value

FAILURES = ("nan", "inf", "-inf", "fail", "failed", "failure", "error", "crashed")
"""What stands for a value that there is not."""


class Outcome(NamedTuple):
    """What the cells of a result say."""

    value: float | None
    """None for a failure."""
    sd: float | None
    reason: str
    """Why it failed, if it did."""


@dataclass(frozen=True)
class ResultReader:
    """Reads the cells of one output: the value and its noise."""

    value: NumberFormat
    sd: NumberFormat

    def read(self, cell: Any, noise: Any, problems: Problems, place: str) -> Outcome | None:
        """Return what the cells say; None if they cannot be read, which is a problem at that place."""
        with problems.at(place):
            return read_outcome(cell, noise, self.value, self.sd)
        return None


@dataclass(frozen=True)
class CellReader:
    """Reads the cells of rows: parameters, and the outputs with their noise."""

    space: Space
    parameters: Mapping[str, NumberFormat]
    outputs: Mapping[str, ResultReader]
    whole_by_bounds: Collection[str] = ()
    """Parameters that are whole numbers only because their bounds are written as such."""

    def read_params(
        self, cells: Mapping[str, Any], problems: Problems, place: str, default: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Return the parameters in the cells of a row, or by `default` where there are none.

        None if one is missing, or cannot be read, which is a problem at that place.
        """
        params: dict[str, Any] = {}
        for name, cell in cells.items():
            with problems.at(place):
                params[name] = self._read_param(name, cell)
        known = {**(default or {}), **params}
        if len(params) == len(cells) and known.keys() >= self.space.parameters.keys():
            with problems.at(place):
                return self.space.accept(known)
        return None

    def read_outcomes(
        self, cells: Mapping[str, Any], noises: Mapping[str, Any], problems: Problems, place: str
    ) -> dict[str, Outcome] | None:
        """Return what the cells of outputs say, likewise."""
        found = {name: self.outputs[name].read(cell, noises.get(name), problems, place) for name, cell in cells.items()}
        read = {name: outcome for name, outcome in found.items() if outcome is not None}
        return read if len(read) == len(found) else None

    def _read_param(self, name: str, cell: Any) -> Any:
        parameter = self.space.parameters[name]
        value = read_cell(cell, parameter, self.parameters[name])
        if name in self.whole_by_bounds and isinstance(value, float) and not value.is_integer():
            raise SpaceError(whole_by_bounds(name, parameter, value))
        return parameter.accept(value, name)


def whole_by_bounds(name: str, parameter: Parameter, value: Any) -> str:
    """Return the complaint about decimals in a parameter whose bounds happen to be written as whole numbers."""
    low = parameter.low if isinstance(parameter, Integer | Real) else 0
    return (
        f'parameter "{name}" needs a whole number; received {value!r}: its bounds are written as whole numbers and its '
        f'type is not. If it may have decimals, write type = "real", or low = {float(low)!r}, in the definition.'
    )


def number_format(
    name: str, parameter: Parameter, unit: str | None = None, titled: str | None = None, *, comma: bool = False
) -> NumberFormat:
    """Return how the numbers of a parameter are written in a table; its column may be `titled` with a unit."""
    own = unit or parameter.unit
    share = own is None and isinstance(parameter, Real) and parameter.low >= 0.0 and parameter.high <= 1.0
    if share and titled is not None and same_unit(titled, "%"):
        # The header says that 20 is 20 %, the range says that 0.2 is: nobody guesses.
        return NumberFormat(name, None, comma)
    return NumberFormat(name, own or titled, comma, hundredths=share and titled is None)


def read_outcome(given: Any, noise: Any, value: NumberFormat, sd: NumberFormat) -> Outcome:
    """Return the value (None for a failure), its standard deviation if there is one, and why it failed if it did."""
    if isinstance(noise, str):
        noise = sd.read(noise) if noise.strip() else None
    noise = None if noise is None or is_missing(noise) else check_sd(noise, sd.name)
    reason = f"value was {str(given).strip()}"
    if isinstance(given, str):
        if given.strip().lower() in FAILURES:
            return Outcome(None, noise, reason)
        number, own = value.read_with_sd(given)
        if own is not None and noise is not None and own != noise:
            raise DataError(f'column "{value.name}" has {given!r} and column "{sd.name}" {noise!r}; write one of them.')
        return Outcome(number, noise if own is None else check_sd(own, sd.name), reason)
    return Outcome(check_value(given), noise, reason)


def read_cell(cell: Any, parameter: Parameter, written: NumberFormat) -> Any:
    """Return what a cell says about a parameter."""
    if not isinstance(cell, str):
        # A column of whole numbers with a gap comes from pandas as floats.
        whole = isinstance(parameter, Listed) and parameter.index(cell) is None and isinstance(cell, float)
        return int(cell) if whole and cell.is_integer() else cell
    if isinstance(parameter, Listed):
        return _read_choice(cell, parameter, written)
    number = written.read(cell)
    if isinstance(parameter, Integer) and number == int(number):
        # Text of a whole number, so that those beyond 2^53 stay exact.
        return int(cell) if cell.strip().lstrip("+-").isdigit() else int(number)
    return number


def _read_choice(cell: str, parameter: Listed, written: NumberFormat) -> Any:
    for text in (armed(cell), cell):
        if text in parameter.alternatives:
            return parameter.alternatives[parameter.alternatives.index(text)]
    texts = [str(choice) for choice in parameter.alternatives]
    if written.decimal_comma and cell not in texts and WITH_COMMA.fullmatch(cell.strip()):
        cell = cell.replace(",", ".")
    named = [choice for choice, text in zip(parameter.alternatives, texts, strict=True) if text == cell.strip()]
    alike = named[:1] or [choice for choice in parameter.alternatives if _alike(choice, cell.strip(), written)]
    if len(alike) != 1:
        raise DataError(f'column "{written.name}" is one of {list(parameter.alternatives)!r}; received {cell!r}.')
    return alike[0]


def _alike(choice: Any, text: str, written: NumberFormat) -> bool:
    """Whether a spreadsheet may have made this text of a choice: TRUE of True, 1 of 1.0."""
    if str(choice).casefold() == text.casefold():
        return True
    if not isinstance(choice, int | float) or isinstance(choice, bool):
        return False
    try:
        return choice == written.read(text)
    except DataError:
        return False


def is_missing(cell: Any) -> bool:
    """Return whether a cell is NaN, or whatever pandas has in an empty cell: all of these differ from themselves."""
    try:
        return cell is not None and not bool(cell == cell)  # noqa: PLR0124
    except TypeError:
        return True
