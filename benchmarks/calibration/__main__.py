"""Run sets of functions, or print how often what was said was true."""

from __future__ import annotations

import argparse

from benchmarks.calibration import __doc__ as what
from benchmarks.calibration.problems import SETS
from benchmarks.calibration.runs import FOLDER, run
from benchmarks.calibration.table import count, lines, load, runs
from benchmarks.calibration.variants import VARIANTS
from benchmarks.measure import save


def main() -> None:
    """Run, or make the table of what was run."""
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    running = parts.add_parser("run", help="make runs")
    running.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    running.add_argument("--variants", nargs="+", choices=VARIANTS, default=["default"])
    running.add_argument("--instances", nargs="+", type=int, default=[3, 4])
    running.add_argument("--compute", default="numpy", help="as for Optimizer")
    tabling = parts.add_parser("table", help="count what was true")
    tabling.add_argument("--keep", action="store_true", help="write benchmarks/results/calibration.json")
    options = parser.parse_args()
    if options.part == "run":
        for name in options.sets:
            for variant in options.variants:
                print(run(name, variant, tuple(options.instances), options.compute), flush=True)
        return
    entries = count(load(FOLDER))
    print("\n".join(lines(entries)))
    if options.keep:
        print(save("calibration", entries, runs=runs(FOLDER)))


if __name__ == "__main__":
    main()
