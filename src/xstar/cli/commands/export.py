"""`xstar export`: the study as a table, a page, a picture, or a file for `Optimizer.load`."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xstar.cli.arguments import add_study
from xstar.cli.console import Console
from xstar.errors import SettingsError

if TYPE_CHECKING:
    from xstar.cli.studies import Opened

SUMMARY = "write the study to a file"
DETAILS = " A .json file can be read by xstar.Optimizer.load."
FIRST, LAST = ["trial", "state"], ["value", "sd", "reason", "suggested by"]
"""Columns of a table, before and after the parameters."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_study(parser)
    parser.add_argument(
        "file", metavar="FILE", help="its ending says what: .csv .json .html .png .svg .pdf; - prints CSV"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Write a table (.csv, or - for standard output), a page (.html), a picture, or a study (.json)."""
    from xstar.cli.opening import open_named
    from xstar.files.atomic import write_text

    opened = open_named(options, console)
    if options.file == "-":
        rows = _rows(opened)
        console.answer(_table(rows).rstrip("\n"), rows)
        return 0
    path = Path(options.file)
    if path.suffix == ".csv":
        write_text(path, _table(_rows(opened)))
    elif path.suffix == ".json":
        opened.optimizer_with_results().save(path)
    elif path.suffix == ".html":
        from xstar.views.report import write_report

        write_report(opened.optimizer_with_results(), path)
    elif path.suffix in (".png", ".svg", ".pdf"):
        from xstar.views.plots import draw

        draw(opened.optimizer_with_results(), path)
    else:
        raise SettingsError(
            f"{options.file!r} should end in .csv, .json, .html, .png, .svg or .pdf, which says what to write."
        )
    console.answer(f"wrote {options.file}", {"wrote": options.file})
    return 0


def _rows(opened: Opened) -> list[dict[str, Any]]:
    from optuna.trial import TrialState

    from xstar.cli.trials import STATE_WORDS
    from xstar.integrations.optuna.adapter import enqueued_params
    from xstar.integrations.optuna.records import REASON, SD, WITHDRAWN, shared
    from xstar.trial import renamed_diagnostics

    return [
        {
            "trial": trial.number,
            "state": "withdrawn" if WITHDRAWN in trial.user_attrs else STATE_WORDS[trial.state],
            **{_column(name): value for name, value in {**enqueued_params(trial), **trial.params}.items()},
            "value": trial.value if trial.state == TrialState.COMPLETE else None,
            "sd": trial.user_attrs.get(SD),
            "reason": trial.user_attrs.get(WITHDRAWN, trial.user_attrs.get(REASON)),
            "suggested by": renamed_diagnostics(shared(trial)).get("method"),
        }
        for trial in opened.study.get_trials(deepcopy=False)
    ]


def _column(name: str) -> str:
    """The column of a parameter, which may be named like one of ours."""
    return f"{name} (parameter)" if name in [*FIRST, *LAST] else name


def _table(rows: list[dict[str, Any]]) -> str:
    named = dict.fromkeys(name for row in rows for name in row if name not in [*FIRST, *LAST])
    text = io.StringIO()
    writer = csv.DictWriter(text, [*FIRST, *named, *LAST], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
