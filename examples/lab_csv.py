"""Old results from a laboratory's spreadsheet, with replicates and failed runs, and the experiment to do next.

    python -m examples.lab_csv [results.csv]

Rows whose yield is "failed" teach where not to go; rows without one have not been run yet and are skipped.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import xstar

RESULTS = """\
date;temperature;hours;solvent;yield;error
2026-03-02;40;2;water;12,1;1,5
2026-03-02;40;2;water;13,0;1,5
2026-03-03;60;6;ethanol;48,7;1,5
2026-03-04;80;10;ethanol;71,9;1,5
2026-03-04;80;10;ethanol;69,6;1,5
2026-03-05;120;4;water;failed;
2026-03-05;115;20;ethanol;failed;
2026-03-06;70;20;toluene;40,2;1,5
2026-03-09;95;3;toluene;33,0;1,5
2026-03-10;90;14;ethanol;;
"""
SPACE = xstar.Space(
    temperature=xstar.Real(20.0, 125.0),
    hours=xstar.Integer(1, 24),
    solvent=xstar.Categorical(["water", "ethanol", "toluene"]),
)


def main(file: Path) -> None:
    """Read the table, ask for the next experiment, say what is known."""
    opt = xstar.Optimizer(SPACE, direction="maximize", seed=0)
    told = opt.tell_table(file, value="yield", sd="error")
    failed = sum(trial.state == "failed" for trial in told)
    print(f"{len(told)} results read, {failed} of them failed")
    trial = opt.ask()
    print(f"\nnext experiment: {dict(trial.params)}\n{opt.explain(trial)}\n")
    best = opt.recommend()
    print(f"so far best: {dict(best.params)}, expected {best.mean:.1f} ± {best.sd:.1f}")
    print(opt.where())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder) / "results.csv"
            table.write_text(RESULTS, encoding="utf-8")
            main(table)
