"""The page: all of it in one file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from xstar.files.atomic import write_text
from xstar.optimizer import Optimizer
from xstar.version import __version__
from xstar.views.report.facts import facts
from xstar.views.report.findings import Findings
from xstar.views.report.markup import element, text
from xstar.views.report.pictures import pictures
from xstar.views.report.trials import trials
from xstar.views.report.words import answer, surprises

TITLE = "Where is the optimum?"


def write_report(optimizer: Optimizer, path: str | Path, stop_reason: str | None = None) -> Path:
    """Write a study as one HTML file: the answer in words, pictures, surprises, every trial, settings.

    The page needs nothing else, on a phone, on paper and without scripts. The same study has the same page.

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
    page = _page(Findings.of(optimizer, stop_reason))
    target.parent.mkdir(parents=True, exist_ok=True)
    # Messages of programs may have halves of letters in them, which no file can hold.
    write_text(target, page.encode("utf-8", "replace").decode("utf-8"))
    return target


def _page(findings: Findings) -> str:
    told = sum(trial.state in ("done", "failed") for trial in findings.optimizer.trials)
    after = f"after {told} {'evaluation' if told == 1 else 'evaluations'}"
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        element("title", text(f"{TITLE} xstar, {after}")),
        element("style", _kept("page.css")),
    ]
    body = [
        element("header", element("h1", TITLE), element("p", after)),
        element("main", answer(findings), pictures(findings), surprises(findings), trials(findings), facts(findings)),
        element("footer", element("p", f"Written by xstar {text(__version__)}.")),
        element("script", _kept("page.js")),
    ]
    lines = "\n".join(head), "\n".join(body)
    return f'<!doctype html>\n<html lang="en">\n<head>\n{lines[0]}\n</head>\n<body>\n{lines[1]}\n</body>\n</html>\n'


def _kept(name: str) -> str:
    """A file beside this one."""
    return "\n" + files("xstar.views.report").joinpath(name).read_text(encoding="utf-8")
