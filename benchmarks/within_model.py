"""Regret of each acquisition on functions drawn from the model itself, hyperparameters known [HHG14, figure 2].

    python -m benchmarks.within_model [--functions 20] [--evaluations 30] [--jobs 2]

Functions on [0, 1]^2 drawn from a GP (squared exponential, l^2 = 0.1, unit amplitude), noise variance 1e-6, three
points to start with, the same for all methods. Every method recommends the maximizer of the posterior mean. Printed:
the median over functions of the immediate regret max f - f(recommendation). Results go to
benchmarks/results/within_model.json.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.measure import save, spawned
from xstar.acquisition import EI, ES, MES, PES, Acquisition, LogEI, Prepared, Thompson
from xstar.acquisition.mean import MeanScore
from xstar.gp import Hyperparameters, Paths, Posterior, SquaredExponential, draw_paths
from xstar.search import BoxSearch, draw_candidates

D, NOISE, START = 2, 1e-3, 3
HYPER = Hyperparameters(np.full(D, 0.1**0.5), 1.0, NOISE)
SHOWN = (0, 5, 10, 15, 20, 25, 30)

METHODS: dict[str, Acquisition | None] = {
    "PES": PES(),
    "PES of 2014": PES(boundary="paper", incumbent="paper", paths="weights"),
    "ES": ES(),
    "MES": MES(),
    "EI": EI(),
    "LogEI": LogEI(),
    "Thompson": Thompson(),
    "random": None,
}


def maximize(objective: Any, post: Posterior, rng: np.random.Generator) -> Any:
    """The best point of an objective, (1, d)."""
    best = post.data.X[[int(np.argmax(post.data.y))]]
    return BoxSearch().maximize(objective, draw_candidates(512, post.data.X, rng, around=best)).x[:1]


def draw_function(seed: int) -> tuple[Paths, float]:
    """A path of the prior, and its maximum."""
    rng = np.random.default_rng(seed)
    prior = Posterior(SquaredExponential(), HYPER, np.zeros((0, D)), np.zeros(0))
    path = draw_paths(prior, 1, rng, num_features=2000)
    best = BoxSearch(num_starts=64).maximize(path, draw_candidates(4096, np.zeros((0, D)), rng))
    return path, float(best.value[0])


def run(method: str, seed: int, evaluations: int) -> list[float]:
    """The regret after the start and after each evaluation."""
    path, best = draw_function(seed)
    noise, rng = np.random.default_rng(1000 + seed), np.random.default_rng(2000 + seed)
    X = np.random.default_rng(3000 + seed).random((START, D))
    y = path(X)[0] + NOISE * noise.standard_normal(START)
    acquisition, regrets = METHODS[method], []
    for step in range(evaluations + 1):
        post = Posterior(SquaredExponential(), HYPER, X, y)
        regrets.append(best - float(path(maximize(Prepared(MeanScore(post.by_problem())), post, rng))[0, 0]))
        if step == evaluations:
            break
        x = rng.random((1, D)) if acquisition is None else maximize(acquisition.prepare(post, rng), post, rng)
        X, y = np.concatenate([X, x]), np.append(y, path(x)[0] + NOISE * noise.standard_normal(1))
    return regrets


def main() -> None:
    """Run every method on every function and print the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=20)
    parser.add_argument("--evaluations", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    options = parser.parse_args()
    shown = [step for step in SHOWN if step <= options.evaluations]
    print("median immediate regret after so many evaluations")
    print(f"{'method':12s}" + "".join(f"{step:>10d}" for step in shown))
    rows = []
    with spawned(options.jobs) as pool:
        for method in METHODS:
            count = options.functions
            curves = list(pool.map(run, [method] * count, range(count), [options.evaluations] * count))
            median = np.median(curves, axis=0)
            rows.append(
                {
                    "method": method,
                    "median": median.tolist(),
                    "upper_quartile": np.quantile(curves, 0.75, axis=0).tolist(),
                }
            )
            print(f"{method:12s}" + "".join(f"{median[step]:10.1e}" for step in shown), flush=True)
    print(f"written: {save('within_model', rows, **vars(options))}")


if __name__ == "__main__":
    main()
