"""Tables of docs/core.md: what its steps cost, how often a path's maximum is found, and how often a mode is missed."""

from __future__ import annotations

from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import share
from benchmarks.published.results import made_with, read
from experiments.problems import TITLES

KERNELS = {"se": "squared exponential", "matern52": "Matérn-5/2"}
DEFAULT = "128 prior draws, 6 ranges: the default"


def core() -> Lines:
    """CPU seconds and memory beside scikit-learn and SciPy."""
    found = read("core")
    rows = []
    for row in found.rows:
        ours, theirs = row["ours"], row["rival"]
        rows.append([
            row["task"], ", ".join(f"{key} = {row[key]}" for key in ("n", "d") if key in row),
            f"{ours['cpu_seconds']:.3f}", f"{ours['peak_mb']:.0f}",
            f"{theirs['cpu_seconds']:.3f}", f"{theirs['peak_mb']:.0f}",
            f"{theirs['cpu_seconds'] / ours['cpu_seconds']:.1f}",
        ])  # fmt: skip
    head = ("task", "size", "ours, s", "MB", "the other's, s", "MB", "the other's / ours")
    return [*table(head, rows), *made_with(found.machine, "xstar", "numpy", "scipy", "scikit-learn")]


def likelihoods() -> Lines:
    """How many likelihoods the samples of the last table took."""
    rows = [
        [f"n = {row['n']}, d = {row['d']}", f"{row['ours']['result']:.0f}", f"{row['rival']['result']:.0f}"]
        for row in read("core").rows
        if "slice samples" in row["task"]
    ]
    return table(("size", "ours, the search for the mode included", "coordinate by coordinate"), rows)


def search() -> Lines:
    """How often the best of many L-BFGS-B runs is reached."""
    found = read("search")
    rows = []
    for row in found.rows:
        cells = [f"{KERNELS[row['kernel']]}, d = {row['d']}, lengthscale {row['lengthscale']}"]
        for name in ("newton", "quasi"):
            cells.append(f"{share(row[name]['reached'])} ({share(row[name]['exceeded'])})")
            cells.append(f"{row['cpu_seconds'][name]:.4f}")
        rows.append([*cells, f"{row['cpu_seconds']['scipy']:.3f}"])
    runs = f"{found.settings['runs']} SciPy runs, s per path"
    head = (
        f"{found.settings['paths']} paths each",
        "Newton reaches (exceeds)",
        "s per path",
        "quasi-Newton",
        "s per path",
        runs,
    )
    return [*table(head, rows), *made_with(found.machine, "xstar", "numpy", "scipy")]


def modes() -> Lines:
    """Of the modes of all data sets under both kernels, those that a search misses, and its CPU milliseconds."""
    found = read("modes")
    cells = {(row["problem"], row["search"]): row for row in found.rows}
    rows, searches = [], list(dict.fromkeys(name for _, name in cells))
    for problem in dict.fromkeys(row["problem"] for row in found.rows):
        line = [TITLES[problem]]
        for name in searches:
            row = cells[problem, name]
            sets = found.settings["sets"]
            missed = sum(round(part * sets) for part in row["missed"])
            line.append(f"{missed} of {sets * len(row['missed'])}, {row['cpu_ms']:.0f} ms")
        rows.append(line)
    return table(("problem", *(DEFAULT if name == "default" else name for name in searches)), rows)
