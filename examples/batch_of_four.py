"""Four evaluations at a time, on four workers: each batch is chosen so that its results are informative together.

python -m examples.batch_of_four
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import xstar


def simulate(params: dict[str, Any]) -> float:
    """A simulator that crashes for thin walls under a high load."""
    wall, load = params["wall"], params["load"]
    if wall * 30.0 < load:
        raise ArithmeticError("the wall buckles")
    return float(load - 2.0 * wall**2 + np.sin(5.0 * wall))


def main() -> None:
    """Six batches."""
    opt = xstar.Optimizer({"wall": xstar.Real(0.1, 3.0), "load": xstar.Real(1.0, 50.0)}, noise=0.0, seed=0)
    with ThreadPoolExecutor(4) as pool:
        for _ in range(6):
            batch = opt.ask(4)
            jobs = [pool.submit(simulate, dict(trial.params)) for trial in batch]
            for trial, job in zip(batch, jobs, strict=True):
                try:
                    opt.tell(trial, job.result())
                except ArithmeticError as error:
                    opt.fail(trial, str(error))
    failed = sum(trial.state == "failed" for trial in opt.trials)
    print(f"{len(opt.trials)} evaluations in 6 batches, {failed} failed")
    best = opt.recommend()
    print(
        f"recommended: {dict(best.params)}, expected {best.mean:.3f} ± {best.sd:.3f}, holds with {best.feasibility:.0%}"
    )
    print(f"and simulated: {simulate(dict(best.params)):.3f}")


if __name__ == "__main__":
    main()
