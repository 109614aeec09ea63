"""Trials as rows of a table, with a column for each parameter: as a data frame of pandas, as the text of a CSV file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from xstar.errors import SettingsError
from xstar.files.csv_text import line_of
from xstar.files.letters import disarmed
from xstar.trial import Trial

FIRST, VALUE, LAST = ["trial", "state"], ["value", "sd"], ["reason", "suggested by"]
"""Columns before the parameters, of a single output, and after all outputs."""


def column(name: str, outputs: Collection[str] | None = None) -> str:
    """Return the column of a parameter, which may be named like one of ours."""
    return f"{name} (parameter)" if name in [*FIRST, *columns_of_values(outputs), *LAST] else name


def columns_of_output(name: str) -> list[str]:
    """Return the columns of one of several outputs: of its values, and of their noise."""
    own = f"{name} (output)" if name in [*FIRST, *LAST] else name
    return [own, f"{name} sd"]


def row(trial: Trial, outputs: Collection[str] | None = None) -> dict[str, Any]:
    """Return what is known of a trial, by columns; `outputs` are the names of several."""
    how = [trial.diagnostics.get(key) for key in ("method", "purpose")]
    return {
        "trial": trial.number,
        "state": trial.state,
        **{column(name, outputs): value for name, value in trial.params.items()},
        **cells_of_values(trial.value, trial.sd, trial.values, trial.sds, outputs),
        "reason": trial.reason,
        "suggested by": ", ".join(filter(None, how)) or None,
    }


def cells_of_values(
    value: float | None, sd: float | None, values: Mapping[str, float], sds: Mapping[str, float],
    outputs: Collection[str] | None,
) -> dict[str, Any]:  # fmt: skip
    """Return what was told of a trial, by columns; what is missing of several outputs has none."""
    if outputs is None:
        return {"value": value, "sd": sd}
    cells = {}
    for name in outputs:
        own, noise = columns_of_output(name)
        cells.update({own: values[name]} if name in values else {})
        cells.update({noise: sds[name]} if name in sds else {})
    return cells


def frame_of(trials: Iterable[Trial], names: Iterable[str], outputs: Collection[str] | None = None) -> Any:
    """Return trials as a data frame; `names` are those of the parameters, `outputs` those of several outputs."""
    try:
        import pandas as pd
    except ImportError as error:
        raise SettingsError("a data frame needs pandas: pip install pandas.") from error
    return pd.DataFrame([row(trial, outputs) for trial in trials], columns=columns_of(names, outputs))


def columns_of(names: Iterable[str], outputs: Collection[str] | None = None) -> list[str]:
    """Return the columns of a table; `names` are those of the parameters, `outputs` those of several outputs."""
    return [*FIRST, *(column(name, outputs) for name in names), *columns_of_values(outputs), *LAST]


def columns_of_values(outputs: Collection[str] | None) -> list[str]:
    """Return the columns of what was told: of a single output, or of several."""
    return VALUE if outputs is None else list(dict.fromkeys(own for name in outputs for own in columns_of_output(name)))


def csv_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return the text of a CSV file.

    A text that looks like a formula gets an apostrophe, so that no spreadsheet computes it, and `Optimizer.tell_table`
    takes it away again. All else is exact, the choice None too.
    """
    lines = [map(disarmed, columns), *([_written(name, row.get(name, "")) for name in columns] for row in rows)]
    return "".join(line_of(cells) + "\n" for cells in lines)


def _written(name: str, cell: Any) -> str:
    if cell is None:
        return "" if name in [*VALUE, *LAST] else "None"
    return disarmed(cell) if isinstance(cell, str) else str(cell)
