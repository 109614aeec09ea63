"""Trials as rows of a table, with a column for each parameter: as a data frame of pandas, as the text of a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xstar.errors import SettingsError
from xstar.trial import Trial

FIRST, LAST = ["trial", "state"], ["value", "sd", "reason", "suggested by"]
"""Columns before and after the parameters."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for the beginning of a formula."""


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

    Reasons are what programs say, and one that looks like a formula gets an apostrophe, so that no spreadsheet computes
    it. All else is exact, the choice None too, so that `Optimizer.tell_table` reads what was told.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _written(name, cell) for name, cell in cells.items()} for cells in rows)
    return text.getvalue()


def _written(name: str, cell: Any) -> Any:
    if name == "reason" and cell is not None and cell.startswith(FORMULA):
        return f"'{cell}"
    return "None" if cell is None and name not in LAST else cell
