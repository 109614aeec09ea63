"""Which columns of a table are the parameters and the outputs, and how their cells are read and written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xstar.errors import DataError, SpaceError
from xstar.files.cells import CellReader, Outcome, ResultReader, number_format, read_cell
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
    outputs: Mapping[str, int]
    sds: Mapping[str, int]
    """Where the standard deviations of their noise are, if anywhere."""
    named: bool
    """Whether there are several outputs, known by their names."""
    width: int
    decimal_comma: bool

    def trial(self, cells: Sequence[str], number: int, problems: Problems, place: str) -> Trial | None:
        """Return what a row says; None if it says nothing, or only in other columns, or has problems."""
        row = [*cells, *[""] * (self.width - len(cells))]
        given = {name: row[column] for name, column in self.parameters.items()}
        empty = [name for name, cell in given.items() if not cell.strip()]
        results = {name: text for name, column in self.outputs.items() if (text := row[column].strip())}
        if not results and len(empty) == len(given):
            return None
        if empty:
            with problems.at(place):
                which = f"column {quoted(empty)} is" if len(empty) == 1 else f"columns {quoted(empty)} are"
                raise DataError(f"{which} empty; fill in, or empty the other parameters and the result.")
        filled = {name: cell for name, cell in given.items() if name not in empty}
        params = self.reader.read_params(filled, problems, place)
        noises = {name: row[column] for name, column in self.sds.items()}
        outcomes = self.reader.read_outcomes(results, noises, problems, place)
        if params is None or len(params) < len(given) or outcomes is None:
            return None
        return self._told(Trial(number, params), outcomes) if outcomes else Trial(number, params)

    def _told(self, trial: Trial, outcomes: Mapping[str, Outcome]) -> Trial:
        """The trial with what was read of its outputs: a failure if there is no value at all."""
        values = {name: outcome.value for name, outcome in outcomes.items() if outcome.value is not None}
        sds = {name: outcomes[name].sd for name in values}
        if not values:
            return replace(trial, state="failed", reason=next(iter(outcomes.values())).reason)
        if not self.named:
            (name,) = values
            return replace(trial, state="done", value=values[name], sd=sds[name])
        known = {name: sd for name, sd in sds.items() if sd is not None}
        return replace(trial, state="done", values=values, sds=known)

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
    """Return the columns of a new table: the parameters and the outputs, with their units."""
    units = units_of(definition)
    titles = (f"{name} [{units[name]}]" if name in units else name for name in names_of(definition))
    return [disarmed(title) for title in titles]


def units_of(definition: Definition) -> dict[str, str]:
    """Return the units of columns that have one."""
    return {**definition.units, **definition.output_units}


def names_of(definition: Definition) -> tuple[str, ...]:
    """Return the names of the columns that there must be."""
    if definition.goals is None and definition.result in definition.space.parameters:
        raise DataError(
            f'"{definition.result}" is the name of the result and of a parameter; give the result another name, for '
            'example result = "yield".'
        )
    return (*definition.space.parameters, *definition.outputs)


def find_columns(text: CsvText, definition: Definition) -> Columns:
    """Find the columns of a table by their names, which may have a unit in brackets behind them."""
    space, names = definition.space, names_of(definition)
    columns = {}
    for name in names:
        column = text.column(name, names)
        if column is None:
            raise no_column(name, text.header)
        columns[name] = column
    sds = _columns_of_noise(text, definition, names)
    numeric = [columns[name] for name in names if not isinstance(space.parameters.get(name), Listed)]
    comma = text.has_decimal_commas([*numeric, *sds.values()])
    titled = {name: unit_of(text.header[columns[name]]) for name in names}
    units = units_of(definition)
    for name in units:
        _check_unit(units[name], text.header[columns[name]])
    own = {name: units.get(name) or titled[name] for name in definition.outputs}
    named = definition.goals is not None
    reader = CellReader(
        space=space,
        parameters={
            name: number_format(name, parameter, units.get(name), titled[name], comma=comma)
            for name, parameter in space.parameters.items()
        },
        outputs={
            name: ResultReader(
                NumberFormat(name, own[name], comma, is_result=True),
                NumberFormat(f"{name} sd" if named else "sd", own[name], comma),
            )
            for name in definition.outputs
        },
        whole_by_bounds=definition.whole_by_bounds,
    )
    return Columns(
        reader=reader,
        parameters={name: columns[name] for name in space.parameters},
        outputs={name: columns[name] for name in definition.outputs},
        sds=sds,
        named=named,
        width=len(text.header),
        decimal_comma=comma,
    )


def _columns_of_noise(text: CsvText, definition: Definition, names: Collection[str]) -> dict[str, int]:
    """Where the noise of outputs is; that of a single one may be called by no name."""
    found: dict[str, int] = {}
    for output in definition.outputs:
        titles = [f"{output} sd"] if definition.goals is not None else ["sd", f"{output} sd"]
        places = (text.column(name, names) for name in titles if name not in names)
        columns = [column for column in places if column is not None]
        if len(columns) > 1:
            both = quoted(text.header[k] for k in columns)
            raise DataError(f"the noise has two columns, {both}; rename one of them.")
        found.update((output, column) for column in columns)
    return found


def _check_unit(unit: str, title: str) -> None:
    """Complain about a column in another unit than is defined; in square brackets there is nothing but a unit."""
    titled = unit_of(title)
    if titled is not None and title.rstrip().endswith("]") and not same_unit(unit, titled):
        raise DataError(
            f'column "{title.strip()}" is in {titled}, the definition says {unit}; convert the numbers, or change the '
            "unit in one of them."
        )
