"""A study as one HTML file: the result in words, a picture, and every trial."""

from __future__ import annotations

import base64
import html
import io
from pathlib import Path
from typing import Any

from xstar.beliefs import OptimumPosterior
from xstar.errors import SettingsError
from xstar.files.atomic import write_text
from xstar.optimizer import Optimizer
from xstar.trial import Trial
from xstar.views.plots import summary

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } img { max-width: 100%; }
td, th { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #ddd; }
th { position: sticky; top: 0; background: #fff; }
.failed td { color: #a33; } .pending td, .withdrawn td { color: #888; }
"""


def write_report(optimizer: Optimizer, path: str | Path, stop_reason: str | None = None) -> Path:
    """Write a study as one HTML file: the result in words, a picture, and every trial.

    Parameters
    ----------
    optimizer : Optimizer
        What has been told; a study without results has a page of its trials.
    path : str or Path
        Of the file. Missing folders are made.
    stop_reason : str, optional
        Why the run stopped, if it did.

    Returns
    -------
    Path
        That of the file.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile, xstar
    >>> result = xstar.maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=5, method="logei")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = xstar.report.write_report(result.optimizer, pathlib.Path(folder) / "study.html")
    ...     "Where is the optimum?" in page.read_text(encoding="utf-8")
    True
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    states = [trial.state for trial in optimizer.trials]
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "no trials"
    stopped = f" The run stopped by {stop_reason}." if stop_reason else ""
    parts = [f"<p>To {optimizer.direction}, by {html.escape(optimizer.method_name)}: {counts}.{stopped}</p>"]
    if "done" in states:
        where = optimizer.where()
        parts += [_words(optimizer, where), _picture(optimizer)]
    parts.append(_table(optimizer))
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>xstar report</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>Where is the optimum?</h1>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )
    write_text(target, page)
    return target


def _words(optimizer: Optimizer, where: OptimumPosterior) -> str:
    best = where.recommendation
    rows = []
    for name, interval in where.intervals().items():
        if isinstance(interval, dict):
            ranked = sorted(interval.items(), key=lambda item: -item[1])
            shown = ", ".join(f"{value} ({share:.0%})" for value, share in ranked[:6])
        else:
            shown = f"{_number(interval[0])} to {_number(interval[1])}"
        rows.append(_row([name, _number(best.params[name]), shown]))
    observed = optimizer.best_observed
    lucky = (
        ""
        if observed is None
        else f" The best value observed is {_number(observed.value)}, in trial {observed.number}."
    )
    known = "was evaluated" if best.confirmed else "was not evaluated yet"
    return (
        f"<p>Recommended: a value of <b>{_number(best.mean)}</b> ± {best.sd:.2g}; the point {known}. With 95 % "
        f"probability, no more than {where.regret_quantile(0.95):.3g} is left to gain.{lucky}</p>"
        "<table><tr><th>parameter</th><th>recommended</th><th>the optimum, with 90 % probability</th></tr>"
        f"{''.join(rows)}</table>"
    )


def _picture(optimizer: Optimizer) -> str:
    try:
        figure = summary(optimizer)
    except SettingsError as error:
        return f"<p>{html.escape(str(error))}</p>"
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=90, format="png")
    encoded = base64.b64encode(buffer.getvalue()).decode()
    return f'<p><img alt="posterior mean, information and values so far" src="data:image/png;base64,{encoded}"></p>'


def _table(optimizer: Optimizer) -> str:
    names = list(optimizer.space.parameters)
    head = "".join(
        f"<th>{html.escape(cell)}</th>" for cell in ["trial", *names, "value", "sd", "state", "suggested by"]
    )
    return f"<table><tr>{head}</tr>{''.join(_trial(trial, names) for trial in optimizer.trials)}</table>"


def _trial(trial: Trial, names: list[str]) -> str:
    state = trial.state if trial.reason is None else f"{trial.state}: {trial.reason}"
    cells = [trial.number, *(trial.params[name] for name in names), trial.value, trial.sd, state]
    how = [trial.diagnostics.get(key) for key in ("method", "purpose")]
    return _row([*map(_number, cells), ", ".join(filter(None, how)) or "told"], trial.state)


def _row(cells: list[Any], kind: str = "") -> str:
    return f'<tr class="{kind}">' + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>"


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
