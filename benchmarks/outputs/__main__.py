"""Run methods on problems, and print how they compare."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import as_completed
from typing import Any

from benchmarks.measure import load, spawned
from benchmarks.outputs import __doc__ as what
from benchmarks.outputs.peers import METHODS
from benchmarks.outputs.problems import NAMES, problem
from benchmarks.outputs.runs import Job, keep, missing, run
from benchmarks.outputs.table import lines

EVERY = 30.0
"""Seconds after which what was found is kept."""


def main() -> None:
    """Make the runs that the file has not, and print the table."""
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=NAMES, help=f"of {', '.join(NAMES)}; zdt1-6 has 6 parameters")
    parser.add_argument("--methods", nargs="+", default=["xstar"], help=f"of {', '.join(METHODS)}, or xstar:NAME")
    parser.add_argument("--first", type=int, default=0, help="the first repeat (0)")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--budget-per-dimension", type=int, default=20, help="evaluations for each parameter (20)")
    parser.add_argument("--noise", type=float, default=0.0, help="as a share of the spread of each output (0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--reference", default="xstar", help="what differences are to (xstar)")
    parser.add_argument("--name", default="outputs", help="of the file in benchmarks/results (outputs)")
    parser.add_argument("--table", action="store_true", help="run nothing, print the table of all that was run")
    options = parser.parse_args()
    for name in options.problems:
        problem(name)  # or say what there is, before anything runs
    for method in options.methods:
        if method.partition(":")[0] not in METHODS:
            parser.error(f"there is no method {method!r}; there are {', '.join(METHODS)}, and xstar:NAME.")
    if not options.table:
        _run(options)
    rows = load(options.name)
    if not options.table:
        rows = [row for row in rows if row["problem"] in options.problems]
    print("\n".join(lines(rows, options.reference)))


def _run(options: argparse.Namespace) -> None:
    repeats = range(options.first, options.first + options.repeats)
    jobs = missing(
        [
            Job(name, method, repeat, options.budget_per_dimension, options.noise)
            for name in options.problems
            for repeat in repeats
            for method in options.methods
        ],
        options.name,
    )
    found: list[dict[str, Any]] = []
    kept = time.monotonic()
    try:
        with spawned(options.jobs) as pool:
            running = {pool.submit(run, job): job for job in jobs}
            try:
                for done, future in enumerate(as_completed(running), start=1):
                    row = future.result()
                    found.append(row)
                    print(
                        f"{done} of {len(jobs)}: {row['problem']}, {row['method']}, repeat {row['repeat']}: "
                        f"{row['evaluated'][-1]:+.2f}, {row['cpu_seconds']:.0f} CPU s",
                        flush=True,
                    )
                    if time.monotonic() - kept > EVERY:
                        keep(found, options.name)
                        kept = time.monotonic()
            finally:
                pool.shutdown(cancel_futures=True)
    finally:
        if found:
            print(f"written: {keep(found, options.name)}")


if __name__ == "__main__":
    main()
