"""The command line: `xstar run`, `ask`, `tell`, and what else `xstar --help` names."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    from xstar.cli.main import main as run

    return run(arguments)
