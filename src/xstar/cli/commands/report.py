"""`xstar report`: a study as one page to look at, to print, or to send."""

from __future__ import annotations

import argparse
from pathlib import Path

from xstar.cli.arguments import add_source
from xstar.cli.console import Console
from xstar.errors import SettingsError

SUMMARY = "write the study as one HTML page, with pictures"
DETAILS = " It needs matplotlib: pip install 'xstar[plots]'."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_source(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="(STUDY.html)")


def run(options: argparse.Namespace, console: Console) -> int:
    """Write the page, also of a study without results."""
    from xstar.cli.opening import open_source
    from xstar.views.report import write_report

    source = open_source(options, console)
    path = Path(options.output) if options.output else source.page
    if path.suffix.lower() not in (".html", ".htm"):
        raise SettingsError(f"a report is a page: {str(path)!r} should end in .html.")
    with console.working("writing the report"):
        write_report(source.build(), path)
    console.answer(f"wrote {path}", {"wrote": str(path), "notes": source.remarks})
    return 0
