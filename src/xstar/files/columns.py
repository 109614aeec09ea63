"""Which columns of a table are the parameters and the result, and how their cells are read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xstar.errors import DataError, SpaceError
from xstar.files.cells import read_cell, read_outcome, with_point
from xstar.files.csv_text import CsvText, quoted
from xstar.files.definition import Definition
from xstar.space import Listed, Parameter, Space
from xstar.trial import Trial


@dataclass(frozen=True)
class Columns:
    """Where the cells of a row are, and what decimals look like in them."""

    space: Space
    parameters: Mapping[str, int]
    result_name: str
    result: int
    sd: int | None
    """Where the standard deviation of the noise is, if anywhere."""
    width: int
    decimal_comma: bool

    def trial(self, cells: Sequence[str], number: int) -> Trial | None:
        """Return what a row says; None if it says nothing, or only in other columns."""
        row = [*cells, *[""] * (self.width - len(cells))]
        given = {name: row[column] for name, column in self.parameters.items()}
        empty = [name for name, cell in given.items() if not cell.strip()]
        result = row[self.result].strip()
        if not result and len(empty) == len(given):
            return None
        if empty:
            raise DataError(f'column "{empty[0]}" is empty; fill it in, or empty the other parameters and the result.')
        params = {name: self._read(cell, self.space.parameters[name], name) for name, cell in given.items()}
        pending = Trial(number, self.space.accept(params))
        if not result:
            return pending
        noise = "" if self.sd is None else row[self.sd]
        value, sd, reason = read_outcome(self._with_point(result), self._with_point(noise), self.result_name, "sd")
        if value is None:
            return Trial(number, pending.params, "failed", reason=reason)
        return Trial(number, pending.params, "done", value, sd)

    def row(self, params: Mapping[str, Any]) -> list[str]:
        """Return the cells of an experiment to run."""
        cells = [""] * self.width
        for name, column in self.parameters.items():
            cells[column] = self._written(params[name], self.space.parameters[name])
        return cells

    def check_choices(self) -> None:
        """Complain about choices that could not be read back."""
        for name, parameter in self.space.parameters.items():
            for choice in parameter.alternatives if isinstance(parameter, Listed) else ():
                text = self._written(choice, parameter)
                if not text.strip() or self._read(text, parameter, name) is not choice:
                    raise SpaceError(
                        f'parameter "{name}" has the choice {choice!r}, which in a table looks like another choice or '
                        "an empty cell; give it another name."
                    )

    def _read(self, cell: str, parameter: Parameter, name: str) -> Any:
        named = isinstance(parameter, Listed) and cell in map(str, parameter.alternatives)
        value = read_cell(cell if named else self._with_point(cell), parameter, name)
        return parameter.accept(value, name)

    def _written(self, value: Any, parameter: Parameter) -> str:
        # A choice such as 1.0 may have a 1 beside it.
        text = str(value) if isinstance(parameter, Listed) else str(value).removesuffix(".0")
        return text.replace(".", ",") if self.decimal_comma and isinstance(value, float) else text

    def _with_point(self, cell: str) -> str:
        return with_point(cell) if self.decimal_comma else cell


def header_of(definition: Definition) -> list[str]:
    """Return the columns of a new table: the parameters and the result, with their units."""
    units = {**definition.units, **({} if definition.unit is None else {definition.result: definition.unit})}
    return [f"{name} [{units[name]}]" if name in units else name for name in names_of(definition)]


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
            raise DataError(f'there is no column "{name}"; the columns are {quoted(text.header)}.')
        columns[name] = column
    noises = (text.column(name, names) for name in ("sd", f"{definition.result} sd") if name not in names)
    sds = [column for column in noises if column is not None]
    if len(sds) > 1:
        raise DataError(f"the noise has two columns, {quoted(text.header[k] for k in sds)}; rename one of them.")
    numeric = [columns[name] for name in names if not isinstance(space.parameters.get(name), Listed)] + sds
    return Columns(
        space=space,
        parameters={name: columns[name] for name in space.parameters},
        result_name=definition.result,
        result=columns[definition.result],
        sd=sds[0] if sds else None,
        width=len(text.header),
        decimal_comma=text.has_decimal_commas(numeric),
    )
