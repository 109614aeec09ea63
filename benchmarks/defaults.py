"""What the settings of "pes-alone" are based on: its regret with one of them changed at a time.

    python -m benchmarks.defaults [--problems branin gp] [--variants default "SE alone"] [--seeds 10] [--jobs 2]

The same problems, starts and noise as in benchmarks.regret, with fewer evaluations. Printed: the median of the
immediate regret and, last, the mean of its decimal logarithm over all shown numbers of evaluations: smaller is better.
Without competing points f(x_star) need beat the largest observation only; without competing maximizers, the best data
but not the maximizers of other paths. Results go to benchmarks/results/defaults.json, which keeps the rows of earlier
runs that are not run again.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.measure import load, save, spawned
from benchmarks.regret import START, run
from xstar import Method
from xstar.acquisition import PES
from xstar.gp import MAP, Matern52, SliceSampling, SquaredExponential
from xstar.methods import INDEPENDENT, find_method

DEFAULT = find_method("pes-alone")


def _sampling(**settings: Any) -> Method:
    return replace(DEFAULT, inference=SliceSampling(prior=INDEPENDENT, **settings))


def _pes(**settings: Any) -> Method:
    return replace(DEFAULT, acquisition=PES(**settings))


VARIANTS: dict[str, Method] = {
    "default": DEFAULT,
    "SE alone": replace(DEFAULT, kernel=SquaredExponential()),
    "Matern alone": replace(DEFAULT, kernel=Matern52()),
    "paper boundary": _pes(boundary="paper"),
    "no competing points": _pes(incumbent="paper"),
    "no competing maximizers": _pes(num_competitors=0),
    "MAP": replace(DEFAULT, inference=MAP(INDEPENDENT)),
    "H = 4": _sampling(num_samples=4),
    "H = 20": _sampling(num_samples=20),
    "20 paths": _pes(num_samples=20),
    "100 paths": _pes(num_samples=100),
}
PROBLEMS: dict[str, tuple[int, ...]] = {
    "branin": (10, 20, 30), "cosines": (10, 20, 30), "gp": (10, 20, 30), "hartmann": (20, 40, 60),
}  # fmt: skip


def one(name: str, variant: str, seed: int) -> dict[str, Any]:
    """A run of benchmarks.regret with a variant."""
    return run(name, VARIANTS[variant], seed, PROBLEMS[name][-1])


def main() -> None:
    """Run the variants and print their regret."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    options = parser.parse_args()
    rows = load("defaults")
    with spawned(options.jobs) as pool:
        for name in options.problems:
            shown = PROBLEMS[name]
            print(f"\n{name:25s}" + "".join(f"{step:>10d}" for step in shown) + f"{'log10':>10s}{'s per step':>12s}")
            for variant in options.variants:
                count = options.seeds
                runs = list(pool.map(one, [name] * count, [variant] * count, range(count)))
                curves = np.maximum([item["regret"] for item in runs], 1e-9)[:, [step - START for step in shown]]
                row = {
                    "problem": name,
                    "variant": variant,
                    "seeds": count,
                    "median": np.median(curves, axis=0).tolist(),
                    "log10": float(np.mean(np.log10(curves))),
                    "seconds": float(np.median([item["seconds"] for item in runs])),
                }
                rows = [other for other in rows if (other["problem"], other["variant"]) != (name, variant)] + [row]
                medians = "".join(f"{value:10.1e}" for value in row["median"])
                print(f"{variant:25s}{medians}{row['log10']:10.2f}{row['seconds']:12.2f}", flush=True)
                save("defaults", rows)
    print("\nwritten: benchmarks/results/defaults.json")


if __name__ == "__main__":
    main()
