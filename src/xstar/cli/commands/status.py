"""`xstar status`: how many trials there are in which state, and the best value observed."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from xstar.cli.arguments import add_source
from xstar.cli.console import Console

SUMMARY = "say how the study stands"
DETAILS = " It says how each parameter is read, and which are not in the model."
STATES = ("done", "failed", "running", "to run", "waiting", "pruned", "withdrawn")
"""In the order of their counts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_source(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Answer how the study stands."""
    from xstar.cli.in_words import doubts, how_read, lines_of, shown
    from xstar.cli.opening import open_source

    source = open_source(options, console)
    found = Counter(trial.state for trial in source.listed)
    counts = {state: found[state] for state in STATES if found[state]}
    best, running, definition = source.best(), source.running(), source.definition
    known = {} if source.space is None else how_read(source.space, definition.whole_by_bounds if definition else ())
    front = source.not_dominated()
    data: dict[str, Any] = {
        "study": source.name,
        "storage": source.address,
        "direction": source.direction,
        "trials": counts,
        "running": running,
        "best": None if best is None else {"number": best.number, "value": best.value, "params": best.params},
        "parameters": known,
        "notes": source.remarks,
    }
    if source.goals is not None:
        data["outputs"] = {**source.goals.objectives, **source.goals.constraints}
        data["not dominated"] = front
    what = "" if source.result == "value" else f" {source.result}"
    unit = "" if definition is None or definition.unit is None else f" {definition.unit}"
    wanted = source.goals or f"{source.direction}{what}"
    lines = [
        f"{source.name}: to {wanted}, in {source.address}",
        ", ".join(f"{count} {word}" for word, count in counts.items()) or "no trials yet",
    ]
    if running:
        lines.append(_numbers(running, source.counted_in))
    if best is not None:
        told = ", ".join(f"{name} {value!r}" for name, value in best.values.items()) or f"{best.value!r}{unit}"
        lines.append(f"best observed: {told} in {source.counted_in} {best.number}")
        lines.append(lines_of(shown(best.params, source.space)))
    if front:
        counted = source.counted_in if len(front) == 1 else f"{source.counted_in}s"
        lines.append(f"dominated by no other: {counted} {', '.join(map(str, front))}")
    if known:
        lines.append(f"how parameters are read:\n{lines_of(known, ':')}")
    console.answer("\n".join(lines), data)
    if definition is not None and not found["done"]:
        for doubt in doubts(definition):
            console.note(doubt)
    return 0


def _numbers(numbers: list[int], counted_in: str) -> str:
    """Which evaluations are open."""
    if counted_in == "trial":
        return f"running: {', '.join(f'#{number}' for number in numbers)}"
    return f"to run: {'row' if len(numbers) == 1 else 'rows'} {', '.join(map(str, numbers))}"
