"""Run variants on problems, and print how they compare."""

from __future__ import annotations

import argparse
from concurrent.futures import as_completed
from pathlib import Path

from benchmarks.campaign import __doc__ as what
from benchmarks.campaign import compare
from benchmarks.campaign.problems import NAMES
from benchmarks.campaign.runs import COUNTS, FOLDER, Job, run
from benchmarks.campaign.variants import LIBRARIES, VARIANTS
from benchmarks.measure import save, spawned


def main() -> None:
    """Run, or make the table of what was run."""
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    running = parts.add_parser("run", help="make runs")
    running.add_argument("--problems", nargs="+", choices=NAMES, required=True)
    running.add_argument("--variants", nargs="+", choices=(*VARIANTS, *LIBRARIES), required=True)
    running.add_argument("--first", type=int, default=0, help="the first repeat (0)")
    running.add_argument("--repeats", type=int, default=32)
    running.add_argument("--evaluations", type=int, help="at most so many")
    running.add_argument("--compute", default="numpy", help="as for Optimizer")
    running.add_argument("--jobs", type=int, default=1, help="processes (1)")
    tabling = parts.add_parser("table", help="compare what was run")
    tabling.add_argument("--reference", default="default", choices=(*VARIANTS, *LIBRARIES))
    tabling.add_argument("--folder", type=Path, default=FOLDER, help=f"of runs ({FOLDER})")
    tabling.add_argument("--name", default="campaign", help="of the file in benchmarks/results (campaign)")
    tabling.add_argument("--counts", nargs="+", default=["recommended", "tested"], choices=COUNTS)
    options = parser.parse_args()
    if options.part == "run":
        _run(options)
    else:
        _table(options)


def _run(options: argparse.Namespace) -> None:
    jobs = [
        Job(name, variant, options.first, options.repeats, options.evaluations, options.compute)
        for name in options.problems
        for variant in options.variants
    ]
    with spawned(options.jobs) as pool:
        running = {pool.submit(run, job): job for job in jobs}
        for future in as_completed(running):
            job = running[future]
            print(f"{job.problem}, {job.variant}: {future.result():.0f} CPU s, {job.file}", flush=True)


def _table(options: argparse.Namespace) -> None:
    reference, counts = options.reference, options.counts
    found = compare.rows(compare.load(options.folder), reference)
    before = None
    for row in sorted(found, key=lambda row: (NAMES.index(row["problem"]), COUNTS.index(row["count"]))):
        if row["count"] not in counts:
            continue
        if (row["problem"], row["count"]) != before:
            before = row["problem"], row["count"]
            print(f"\n{row['problem']}, {row['count']}: mean log10 regret after n; difference to {reference}")
        at = " ".join(f"{n}: {value:+.2f}" for n, value in row["at"].items())
        gap = " ".join(f"{key}: {mean:+.2f}±{half:.2f}" for key, (mean, half) in row.get("difference", {}).items())
        print(f"  {row['variant']:20s} {row['repeats']:4d}  {at} run: {row['run']:+.2f}   {gap}")
    print(f"\n{save(options.name, found, reference=reference)}")


if __name__ == "__main__":
    main()
