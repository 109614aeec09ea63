"""Tables of docs/trust.md: what is left after kills and other faults, and what came of random studies."""

from __future__ import annotations

from typing import Any

from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import DASH, seconds, thousands
from benchmarks.published.results import made_with, read

KILLED = {
    "save": "`Optimizer.save`",
    "csv": "`xstar csv`",
    "sqlite": "`xstar run`, SQLite",
    "postgresql": "`xstar run`, PostgreSQL",
}
COUNTS = {
    "kills": "kills",
    "acknowledged": "acknowledged",
    "lost": "of them lost",
    "places": "evaluations of budgets",
    "places_lost": "of them never made",
    "half_written": "half-written files",
    "strays": "stray parts",
    "outlived": "programs that went on",
}


def kills() -> Lines:
    """Counts after processes were killed."""
    found = read("faults")
    rows = [row for row in found.rows if row.get("kills")]
    lines = [
        [KILLED[row["kind"]], *(thousands(row[name]) if row[name] or name != "places" else DASH for name in COUNTS)]
        for row in rows
    ]
    return [*table(("killed", *COUNTS.values()), lines), *made_with(found.machine, "xstar", "optuna")]


def situations() -> Lines:
    """What was tried of full disks, read-only folders and databases that go away."""
    rows = [row for row in read("faults").rows if "what" in row]
    return table(("situation", "tries", "went wrong"), (_situation(row) for row in rows))


def _situation(row: dict[str, Any]) -> list[str]:
    if row["skipped"]:
        return [row["what"], "0", "not tried here"]
    return [row["what"], str(row["tries"]), str(len(row["wrong"]))]


def soak() -> Lines:
    """Counts of random studies."""
    found = read("soak")
    (row,) = found.rows
    names = ("studies", "asks", "exceptions", "duplicates", "wrong")
    head = ("studies", "suggestions", "exceptions", "duplicates", "wrong answers", "CPU s", "slowest suggestion, CPU s")
    slowest = max(cost for cost, _ in row["slowest"])
    cells = [*(thousands(row[name]) for name in names), seconds(row["cpu_seconds"]), seconds(slowest)]
    return [*table(head, [cells]), *made_with(found.machine, "xstar", "numpy", "scipy")]
