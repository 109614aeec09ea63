"""Trials as rows of a table, with a column for each parameter; as a data frame of pandas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xstar.errors import SettingsError
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
    columns = [*FIRST, *map(column, names), *LAST]
    return pd.DataFrame([row(trial) for trial in trials], columns=columns)
