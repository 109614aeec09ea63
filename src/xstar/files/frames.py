"""Trials as rows of a table, with a column for each parameter: as a data frame of pandas, as the text of a CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xstar.errors import SettingsError
from xstar.files.csv_text import line_of
from xstar.files.letters import disarmed
from xstar.trial import Trial

FIRST, LAST = ["trial", "state"], ["value", "sd", "reason", "suggested by"]
"""Columns before and after the parameters."""


def column(name: str) -> str:
    """Return the column of a parameter, which may be named like one of ours."""
    return f"{name} (parameter)" if name in [*FIRST, *LAST] else name


def row(trial: Trial) -> dict[str, Any]:
    """Return what is known of a trial, by columns."""
    how = [trial.diagnostics.get(key) for key in ("method", "purpose")]
    return {
        "trial": trial.number,
        "state": trial.state,
        **{column(name): value for name, value in trial.params.items()},
        "value": trial.value,
        "sd": trial.sd,
        "reason": trial.reason,
        "suggested by": ", ".join(filter(None, how)) or None,
    }


def frame_of(trials: Iterable[Trial], names: Iterable[str]) -> Any:
    """Return trials as a data frame; `names` are those of the parameters."""
    try:
        import pandas as pd
    except ImportError as error:
        raise SettingsError("a data frame needs pandas: pip install pandas.") from error
    return pd.DataFrame([row(trial) for trial in trials], columns=columns_of(names))


def columns_of(names: Iterable[str]) -> list[str]:
    """Return the columns of a table; `names` are those of the parameters."""
    return [*FIRST, *map(column, names), *LAST]


def csv_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return the text of a CSV file.

    A text that looks like a formula gets an apostrophe, so that no spreadsheet computes it, and `Optimizer.tell_table`
    takes it away again. All else is exact, the choice None too.
    """
    lines = [map(disarmed, columns), *([_written(name, row.get(name, "")) for name in columns] for row in rows)]
    return "".join(line_of(cells) + "\n" for cells in lines)


def _written(name: str, cell: Any) -> str:
    if cell is None:
        return "" if name in LAST else "None"
    return disarmed(cell) if isinstance(cell, str) else str(cell)
