"""All trials: a table that sorts, and the same as a CSV file."""

from __future__ import annotations

import base64
from typing import Any

from xstar.files.frames import columns_of, csv_of
from xstar.files.frames import row as cells_of
from xstar.numerics.rounding import with_digits
from xstar.optimizer import Optimizer
from xstar.space import Integer, Ordinal, Parameter, Real
from xstar.trial import Trial
from xstar.views.report.findings import Findings
from xstar.views.report.markup import element, section, table, text
from xstar.views.report.words import STATES

MANY = 8
"""With more parameters, the table has small letters and is printed across the page."""


def trials(findings: Findings) -> str:
    """Return the section of trials."""
    optimizer, shown = findings.optimizer, findings.shown
    count = len(optimizer.trials)
    if not count:
        return section("Trials", element("p", "There are none yet."))
    parameters = optimizer.space.parameters
    noisy = optimizer.goals is None and any(trial.sd is not None for trial in shown)
    remarks = {trial.number: "; ".join(_remarks(findings, trial)) for trial in shown}
    remarkable = any(remarks.values())
    remarks = {trial.number: "; ".join(_remarks(findings, trial)) for trial in shown}
    remarkable = any(remarks.values())
    head = [
        _heading("trial", numeric=True),
        *(_heading(name, parameter.unit, numeric=_is_numeric(parameter)) for name, parameter in parameters.items()),
        *(_heading(name, numeric=True) for name in _outputs(optimizer)),
        *([_heading("sd", numeric=True)] if noisy else []),
        *map(_heading, ["state", *(["remarks"] if remarkable else []), "suggested by"]),
    ]
    rows = [_row(optimizer, trial, noisy, remarks[trial.number] if remarkable else None) for trial in shown]
    which = f"{len(shown)} of {count} trials: the latest ones, and those that this page speaks of"
    caption = "All trials" if len(shown) == count else which
    wide = " wide" if len(parameters) > MANY else ""
    return section("Trials", element("p", _download(optimizer)), table(head, rows, caption, f"sortable{wide}"))


def _outputs(optimizer: Optimizer) -> tuple[str, ...]:
    """The headings of what was told."""
    return ("value",) if optimizer.goals is None else optimizer.goals.names


def _values(optimizer: Optimizer, trial: Trial) -> list[float | None]:
    """What was told of a trial, below these."""
    return [trial.value] if optimizer.goals is None else [trial.values.get(name) for name in optimizer.goals.names]


def _download(optimizer: Optimizer) -> str:
    """A link with the file in it, so that it works wherever the page does."""
    outputs = None if optimizer.goals is None else optimizer.goals.names
    cells = (cells_of(trial, outputs) for trial in optimizer.trials)
    data = csv_of(cells, columns_of(optimizer.space.parameters, outputs))
    encoded = base64.b64encode(data.encode("utf-8-sig", "replace")).decode()  # marked as UTF-8, for spreadsheets
    count = len(optimizer.trials)
    which = "the trial" if count == 1 else f"all {count} trials"
    address = f"data:text/csv;charset=utf-8;base64,{encoded}"
    return element("a", f"Download {which} as CSV", class_="button", download="trials.csv", href=address)


def _heading(name: str, unit: str | None = None, *, numeric: bool = False) -> str:
    behind = "" if unit is None else " " + element("small", text(f"({unit})"))
    return element("th", text(name) + behind, scope="col", class_="number" if numeric else None)


def _is_numeric(parameter: Parameter) -> bool:
    return isinstance(parameter, Integer | Real)


def _row(optimizer: Optimizer, trial: Trial, noisy: bool, remarks: str | None) -> str:
    parameters = optimizer.space.parameters
    how = [trial.diagnostics.get(key) for key in ("method", "purpose")]
    cells = [
        element("th", str(trial.number), scope="row", id=f"trial-{trial.number}"),
        *(_cell(parameters[name], value) for name, value in trial.params.items()),
        *(_number(value, 6) for value in _values(optimizer, trial)),
        *([_number(trial.sd, 2)] if noisy else []),
        element("td", STATES[trial.state]),
        *([] if remarks is None else [element("td", text(remarks), class_="remarks")]),
        element("td", text(", ".join(filter(None, how)) or "told"), class_="plain"),
    ]
    return element("tr", *cells, class_=trial.state) + "\n"


def _cell(parameter: Parameter, value: Any) -> str:
    shown = text(parameter.show(value, unit=False))
    if isinstance(parameter, Ordinal):
        return element("td", shown, data_key=str(parameter.index(value)))
    return element("td", shown, class_="number" if _is_numeric(parameter) else None)


def _number(value: float | None, digits: int) -> str:
    return element("td", "" if value is None else with_digits(value, digits), class_="number")


def _remarks(findings: Findings, trial: Trial) -> list[str]:
    observed = findings.optimizer.best_observed
    numbers = {
        "recommended": {one.number for one in findings.evaluated},
        "best observed": {observed.number} if observed is not None else set(),
        "surprising": {one.number for one in findings.surprises},
    }
    said = [remark for remark, those in numbers.items() if trial.number in those]
    return said if trial.reason is None else [*said, trial.reason]
