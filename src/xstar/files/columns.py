"""Which columns of a table are the parameters and the result, and how their cells are read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xstar.errors import DataError, SpaceError
from xstar.files.cells import CellReader, number_format, read_cell
from xstar.files.csv_text import CsvText
from xstar.files.definition import Definition
from xstar.files.letters import disarmed
from xstar.files.problems import Problems
from xstar.files.titles import no_column, quoted, unit_of
from xstar.files.written_numbers import NumberFormat, same_unit
from xstar.space import Listed, Parameter
from xstar.trial import Trial


@dataclass(frozen=True)
class Columns:
    """Where the cells of a row are, and how they are read."""

    reader: CellReader
    parameters: Mapping[str, int]
    result: int
    sd: int | None
    """Where the standard deviation of the noise is, if anywhere."""
    width: int
    decimal_comma: bool

    def trial(self, cells: Sequence[str], number: int, problems: Problems, place: str) -> Trial | None:
        """Return what a row says; None if it says nothing, or only in other columns, or has problems."""
        row = [*cells, *[""] * (self.width - len(cells))]
        given = {name: row[column] for name, column in self.parameters.items()}
        empty = [name for name, cell in given.items() if not cell.strip()]
        result = row[self.result].strip()
        if not result and len(empty) == len(given):
            return None
        if empty:
            with problems.at(place):
                which = f"column {quoted(empty)} is" if len(empty) == 1 else f"columns {quoted(empty)} are"
                raise DataError(f"{which} empty; fill in, or empty the other parameters and the result.")
        filled = {name: cell for name, cell in given.items() if name not in empty}
        params = self.reader.read_params(filled, problems, place)
        noise = "" if self.sd is None else row[self.sd]
        outcome = self.reader.read_outcome(result, noise, problems, place) if result else None
        if params is None or len(params) < len(given) or (result and outcome is None):
            return None
        if outcome is None:
            return Trial(number, params)
        if outcome.value is None:
            return Trial(number, params, "failed", reason=outcome.reason)
        return Trial(number, params, "done", outcome.value, outcome.sd)

    def row(self, params: Mapping[str, Any]) -> list[str]:
        """Return the cells of an experiment to run."""
        cells = [""] * self.width
        for name, column in self.parameters.items():
            cells[column] = self._written(params[name], self.reader.space.parameters[name])
        return cells

    def check_choices(self) -> None:
        """Complain about choices that could not be read back."""
        for name, parameter in self.reader.space.parameters.items():
            for choice in parameter.alternatives if isinstance(parameter, Listed) else ():
                text = self._written(choice, parameter)
                if not text.strip() or read_cell(text, parameter, self.reader.parameters[name]) is not choice:
                    raise SpaceError(
                        f'parameter "{name}" has the choice {choice!r}, which in a table looks like another choice or '
                        "an empty cell; give it another name."
                    )

    def _written(self, value: Any, parameter: Parameter) -> str:
        # A choice such as 1.0 may have a 1 beside it.
        text = str(value) if isinstance(parameter, Listed) else str(value).removesuffix(".0")
        text = disarmed(text) if isinstance(value, str) else text
        return text.replace(".", ",") if self.decimal_comma and isinstance(value, float) else text


def header_of(definition: Definition) -> list[str]:
    """Return the columns of a new table: the parameters and the result, with their units."""
    units = units_of(definition)
    titles = (f"{name} [{units[name]}]" if name in units else name for name in names_of(definition))
    return [disarmed(title) for title in titles]


def units_of(definition: Definition) -> dict[str, str]:
    """Return the units of columns that have one."""
    return {**definition.units, **({} if definition.unit is None else {definition.result: definition.unit})}


def names_of(definition: Definition) -> tuple[str, ...]:
    """Return the names of the columns that there must be."""
    if definition.result in definition.space.parameters:
        raise DataError(
            f'"{definition.result}" is the name of the result and of a parameter; give the result another name, for '
            'example result = "yield".'
        )
    return (*definition.space.parameters, definition.result)


def find_columns(text: CsvText, definition: Definition) -> Columns:
    """Find the columns of a table by their names, which may have a unit in brackets behind them."""
    space, names = definition.space, names_of(definition)
    columns = {}
    for name in names:
        column = text.column(name, names)
        if column is None:
            raise no_column(name, text.header)
        columns[name] = column
    noises = (text.column(name, names) for name in ("sd", f"{definition.result} sd") if name not in names)
    sds = [column for column in noises if column is not None]
    if len(sds) > 1:
        raise DataError(f"the noise has two columns, {quoted(text.header[k] for k in sds)}; rename one of them.")
    numeric = [columns[name] for name in names if not isinstance(space.parameters.get(name), Listed)] + sds
    comma = text.has_decimal_commas(numeric)
    titled = {name: unit_of(text.header[columns[name]]) for name in names}
    units = units_of(definition)
    for name in units:
        _check_unit(units[name], text.header[columns[name]])
    unit = definition.unit or titled[definition.result]
    reader = CellReader(
        space=space,
        parameters={
            name: number_format(name, parameter, units.get(name), titled[name], comma=comma)
            for name, parameter in space.parameters.items()
        },
        result=NumberFormat(definition.result, unit, comma, is_result=True),
        sd=NumberFormat("sd", unit, comma),
        whole_by_bounds=definition.whole_by_bounds,
    )
    return Columns(
        reader=reader,
        parameters={name: columns[name] for name in space.parameters},
        result=columns[definition.result],
        sd=sds[0] if sds else None,
        width=len(text.header),
        decimal_comma=comma,
    )


def _check_unit(unit: str, title: str) -> None:
    """Complain about a column in another unit than is defined; in square brackets there is nothing but a unit."""
    titled = unit_of(title)
    if titled is not None and title.rstrip().endswith("]") and not same_unit(unit, titled):
        raise DataError(
            f'column "{title.strip()}" is in {titled}, the definition says {unit}; convert the numbers, or change the '
            "unit in one of them."
        )
