"""Tables of docs/regret.md and docs/optuna.md: regret through the public interface, failures, cost through Optuna."""

from __future__ import annotations

from benchmarks.defaults import PROBLEMS as AFTER
from benchmarks.functions import NAMES, problem
from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import regret as shown
from benchmarks.published.numbers import seconds
from benchmarks.published.results import made_with, read
from benchmarks.regret import METHODS, START

PROBLEMS = {
    "branin": "Branin / 10",
    "cosines": "mixture of cosines",
    "gp": "2-d GP samples",
    "hartmann": "Hartmann-6",
    "tuning": "`tuning`, 5 mixed parameters",
    "recipe": "`recipe`, 4 mixed parameters",
}
VARIANTS = {
    "default": "default",
    "20 paths": "20 samples of x⋆ instead of 50",
    "100 paths": "100 samples",
    "H = 4": "H = 4 hyperparameter samples instead of 10",
    "H = 20": "H = 20",
    "MAP": "MAP hyperparameters (H = 1)",
    "SE alone": "squared exponential alone",
    "Matern alone": "Matérn-5/2 alone",
    "paper boundary": '`boundary="paper"`',
    "no competing points": 'no competing points (`incumbent="paper"`)',
    "no competing maximizers": "no competing maximizers, the best data only",
}
DRIVERS = {
    "Optimizer": "`Optimizer`",
    "sampler, space given": "`XstarSampler`, space given",
    "sampler": "`XstarSampler`",
    "GPSampler": "`GPSampler`",
    "TPESampler": "`TPESampler`",
}
ASKED = ("Optimizer.ask", "XstarSampler", "reading only", "GPSampler")


def regret() -> Lines:
    """Median and 75 % quantile of every method on every problem."""
    found = {(row["problem"], row["method"]): row for row in read("regret").rows}
    rows = []
    for name in NAMES:
        after = [step - START for step in problem(name, 0).shown]
        for method in METHODS:
            if (name, method) in found:
                row = found[name, method]
                cells = (f"{shown(row['median'][k])} ({shown(row['upper_quartile'][k])})" for k in after)
                rows.append([PROBLEMS[name], f"`{method}`", *cells])
    few, many = problem("branin", 0).shown, problem("hartmann", 0).shown
    head = [f"{n} ({more})" for n, more in zip(few, many, strict=True)]
    return table(("problem", "method", f"n = {head[0]}", *head[1:]), rows)


def defaults(name: str) -> Lines:
    """Median regrets on a problem with one setting changed at a time, and the mean of their logarithms."""
    found = {row["variant"]: row for row in read("defaults").rows if row["problem"] == name}
    rows = [
        [title, *map(shown, found[variant]["median"]), f"{found[variant]['log10']:.2f}"]
        for variant, title in VARIANTS.items()
        if variant in found
    ]
    return table(("setting changed", *map(str, AFTER[name]), "mean log10"), rows)


def failures() -> Lines:
    """Failed suggestions of each seed."""
    rows = read("failures").rows
    titles = {"pes": "`pes`", "random": "`random`", "GPSampler": "Optuna's GPSampler"}
    counts = {(row["function"], row["method"]): ", ".join(map(str, row["failures"])) for row in rows}
    functions = dict.fromkeys(row["function"] for row in rows)
    return table(("function", *titles.values()), ([name, *(counts[name, who] for who in titles)] for name in functions))


def through_optuna() -> Lines:
    """Median regret of each driver."""
    rows = read("through_optuna").rows
    head = ("problem", "driver", f"n = {rows[0]['after'][0]}", *map(str, rows[0]["after"][1:]))
    return table(head, ([PROBLEMS[r["problem"]], DRIVERS[r["driver"]], *map(shown, r["median"])] for r in rows))


def latency() -> Lines:
    """CPU seconds of a suggestion by the number of finished trials."""
    found = read("latency")
    head = ("finished trials", "`Optimizer.ask`", "`XstarSampler`", "of it reading the study", "`GPSampler`")
    rows = [[str(row["n"]), *(seconds(row[who]) for who in ASKED)] for row in found.rows]
    return [*table(head, rows), *made_with(found.machine, "xstar", "numpy", "scipy", "optuna", "torch")]
