"""Tables of docs/scale.md about many functions in lockstep on a GPU."""

from __future__ import annotations

from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import power, thousands
from benchmarks.published.results import read_whole

STAGES = {
    "paths": "paths",
    "maximization": "maximization of the score",
    "EP": "conditioning and EP",
    "random numbers": "random numbers, on the host",
    "recommendation": "recommendation",
}
"""Those of a step that have a row of their own."""


def gpu_seconds() -> Lines:
    """Wall seconds of a whole study by the number of processes."""
    rows = [[str(run["processes"]), f"{run['seconds']:.1f}"] for run in read_whole("gpu")["runs"]]
    return table(("processes", "seconds"), rows)


def gpu_step() -> Lines:
    """One step in one process, each stage beside its floor."""
    found = read_whole("gpu")
    steps = {stage["stage"]: stage for stage in found["one_step"]}
    rest = [stage for name, stage in steps.items() if name not in STAGES]
    rows = [(title, [steps[name]]) for name, title in STAGES.items()] + [("everything else", rest)]
    lines = []
    for title, stages in [*rows, ("all", list(steps.values()))]:
        calls = sum(stage["calls"] for stage in stages)
        floor = f"{sum(stage['floor'] for stage in stages):.3f}" if calls else ""
        lines.append([title, f"{sum(s['seconds'] for s in stages):.3f}", floor, thousands(calls) if calls else ""])
    rates = found["rates"]
    return [
        *table(("stage", "seconds", "floor", "array operations"), lines),
        "",
        f"Rates of the floor: {rates['float64'] / 1e12:.0f} Tflop/s in float64, {rates['copy'] / 1e12:.1f} TB/s.",
    ]


def gpu_agreement() -> Lines:
    """How far suggestions on the GPU are from those of NumPy, and what each takes."""
    found = read_whole("gpu")
    host, chosen, sliced = found["numpy"], found["settings"], found["sliced"]
    whole = chosen["functions"] * chosen["evaluations"]
    few = host["functions"] * host["evaluations"]
    apart = [power(f"{host['median_difference'][k]:.0e}") for k in (0, -1)]
    alone = next(run["seconds"] for run in found["runs"] if run["processes"] == 1)
    rows = {
        f"seconds for each evaluation of a function, {chosen['functions']} in lockstep on the GPU, one process": (
            f"{alone / whole:.4f}"
        ),
        f"the same, {host['functions']} in lockstep with NumPy on the CPU of that machine": (
            f"{host['seconds'] / few:.2f}"
        ),
        "suggestions made from the same data by both": str(host["comparable"]),
        "of them within 1e-6 of each other": f"{100 * host['within_1e-6']:.1f} %",
        "median difference of suggestions, first and last": " and ".join(apart),
        f"seconds of {sliced['functions']} functions, {sliced['evaluations']} evaluations, hyperparameters sampled": (
            f"{sliced['seconds']:.1f}"
        ),
    }
    return table(("", found["device"]), rows.items())
