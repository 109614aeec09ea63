"""All trials: a table that sorts, and the same as a CSV file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from xstar.files.frames import columns_of, csv_of
from xstar.files.frames import row as cells_of
from xstar.numerics.rounding import with_digits
from xstar.optimizer import Optimizer
from xstar.space import Integer, Ordinal, Parameter, Real
from xstar.trial import Trial
from xstar.views.figures.outputs import violated
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
    outputs = ("value",) if optimizer.goals is None else optimizer.goals.names
    noisy = {name for trial in shown for name, sd in _sds(optimizer, trial).items() if sd is not None}
    remarks = {trial.number: "; ".join(_remarks(findings, trial)) for trial in shown}
    remarkable = any(remarks.values())
    head = [
        _heading("trial", numeric=True),
        *(_heading(name, parameter.unit, numeric=_is_numeric(parameter)) for name, parameter in parameters.items()),
        *(
            _heading(column, numeric=True)
            for name in outputs
            for column in (name, *([_sd_of(optimizer, name)] if name in noisy else []))
        ),
        *map(_heading, ["state", *(["remarks"] if remarkable else []), "suggested by"]),
    ]
    rows = [_row(optimizer, trial, outputs, noisy, remarks[trial.number] if remarkable else None) for trial in shown]
    which = f"{len(shown)} of {count} trials: the latest ones, and those that this page speaks of"
    caption = "All trials" if len(shown) == count else which
    wide = " wide" if len(parameters) + len(outputs) - 1 > MANY else ""
    return section("Trials", element("p", _download(optimizer)), table(head, rows, caption, f"sortable{wide}"))


def _download(optimizer: Optimizer) -> str:
    """A link with the file in it, so that it works wherever the page does."""
    outputs = None if optimizer.goals is None else optimizer.goals.names
    rows = (cells_of(trial, outputs) for trial in optimizer.trials)
    data = csv_of(rows, columns_of(optimizer.space.parameters, outputs))
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


def _values(optimizer: Optimizer, trial: Trial) -> Mapping[str, float | None]:
    return {"value": trial.value} if optimizer.goals is None else trial.values


def _sds(optimizer: Optimizer, trial: Trial) -> Mapping[str, float | None]:
    return {"value": trial.sd} if optimizer.goals is None else trial.sds


def _sd_of(optimizer: Optimizer, name: str) -> str:
    return "sd" if optimizer.goals is None else f"{name} sd"


def _row(optimizer: Optimizer, trial: Trial, outputs: Sequence[str], noisy: set[str], remarks: str | None) -> str:
    parameters = optimizer.space.parameters
    values, sds = _values(optimizer, trial), _sds(optimizer, trial)
    how = [trial.diagnostics.get(key) for key in ("method", "purpose")]
    cells = [
        element("th", str(trial.number), scope="row", id=f"trial-{trial.number}"),
        *(_cell(parameters[name], value) for name, value in trial.params.items()),
        *(
            cell
            for name in outputs
            for cell in (
                _number(values.get(name), 6, is_met=_is_met(optimizer, name, values.get(name))),
                *([_number(sds.get(name), 2)] if name in noisy else []),
            )
        ),
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


def _is_met(optimizer: Optimizer, name: str, value: float | None) -> bool:
    """Whether a value is within the bound of its output, if it has one."""
    bound = None if optimizer.goals is None else optimizer.goals.constraints.get(name)
    return bound is None or value is None or bound.is_met(value)


def _number(value: float | None, digits: int, *, is_met: bool = True) -> str:
    kind = "number" if is_met else "number infeasible"
    return element("td", "" if value is None else with_digits(value, digits), class_=kind)


def _remarks(findings: Findings, trial: Trial) -> list[str]:
    observed, goals = findings.optimizer.best_observed, findings.optimizer.goals
    numbers = {
        "recommended": {one.number for one in findings.evaluated},
        "not dominated": set() if findings.front is None else {one.number for one in findings.front.trials},
        "best observed": {observed.number} if observed is not None else set(),
        "surprising": {surprise.trial.number for surprise in findings.surprises},
    }
    said = [remark for remark, those in numbers.items() if trial.number in those]
    said += [] if goals is None else violated(goals, trial.values)
    return said if trial.reason is None else [*said, trial.reason]
