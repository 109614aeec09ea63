"""`xstar dashboard`: optuna-dashboard on the study, with xstar's figures."""

from __future__ import annotations

import argparse

from xstar.cli.arguments import add_study
from xstar.cli.console import Console

SUMMARY = "show the study in a browser, with xstar's figures"
DETAILS = " It needs optuna-dashboard: pip install 'xstar[dashboard]'."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_study(parser)
    parser.add_argument("--host", default="127.0.0.1", help="(127.0.0.1)")
    parser.add_argument("--port", type=int, default=8080, help="(8080)")
    parser.add_argument(
        "--refresh", type=float, default=30.0, metavar="SECONDS", help="between looks for new results (30)"
    )
    parser.add_argument("--once", action="store_true", help="save the figures in the study and end")


def run(options: argparse.Namespace, console: Console) -> int:
    """Serve the dashboard until interrupted, or save the figures once."""
    from xstar.cli.opening import open_named
    from xstar.integrations import dashboard

    opened = open_named(options, console)
    if options.once:
        saved = dashboard.save_figures(opened.study, opened.optimizer())
        console.answer("\n".join(saved), {"saved": saved})
        return 0
    dashboard.serve(
        opened.study, lambda _: opened.optimizer(), options.host, options.port, options.refresh,
        announce=console.remark,
    )  # fmt: skip
    return 0
