"""Tables of docs/scale.md about growth: one size changed at a time, and where an exact model stops."""

from __future__ import annotations

from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import seconds
from benchmarks.published.results import made_with, read
from benchmarks.scale import SERIES, curve, rows_of, slope

TITLES = {
    "n": "n, as used by default", "exact": "n, not thinned", "d": "d", "M": "M", "k": "k, cost per point", "H": "H",
}  # fmt: skip
LIMITS = {"1 s": "1 s of CPU", "10 s": "10 s of CPU", "2 GB": "2 GB on top of the process"}


def series() -> Lines:
    """For each series a line of sizes, of CPU seconds, of what the formulas say, and of memory."""
    found = read("scale")
    width = max(len(settings) for settings in SERIES.values())
    lines = []
    for name in SERIES:
        sizes, measured, formula = curve(name, found.rows)
        memory = [row["more_mb"] for row in rows_of(name, found.rows)]
        parts = [
            (f"**{TITLES[name]}**", [f"**{size}**" for size in sizes], ""),
            ("CPU s", [seconds(value) for value in measured], f"{slope(sizes, measured):.2f}"),
            ("formula", [seconds(value) for value in formula], f"{slope(sizes, formula):.2f}"),
            ("MB", [f"{value:.0f}" for value in memory], ""),
        ]
        lines += [[title, *cells, *[""] * (width - len(cells)), end] for title, cells, end in parts]
    head = ("changed", *[""] * width, "slope at the end")
    return [*table(head, lines), *made_with(found.machine, "xstar", "numpy", "scipy")]


def limits() -> Lines:
    """How many values an exact model of six coordinates can have."""
    rows = [
        [LIMITS[limit["limit"]], f"{round(limit['n'], -1):.0f}", limit["how"].lower()]
        for limit in read("scale").settings["limits"]
    ]
    return table(("limit", "n", "from the measured sizes"), rows)
