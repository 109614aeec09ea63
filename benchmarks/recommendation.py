"""Is what is recommended as good as the best trial, where the model is wrong? A support vector machine, tuned.

    python -m benchmarks.recommendation [--seeds 10] [--budget 30] [--jobs 2]

scikit-learn's digits, four parameters (C, gamma, kernel, degree), the accuracy of a cross-validation with fixed folds:
without noise, but nobody tells. It has a plateau, cliffs, and parameters that matter for one kernel only. After every
five trials: the accuracy of the best trial, that of the recommendation, and what was predicted for it; 1 is the most
there can be. Results go to benchmarks/results/recommendation.json.
"""

from __future__ import annotations

import argparse
from functools import cache
from typing import Any

import numpy as np

import xstar
from benchmarks.measure import save, spawned

IMAGES = 800
EVERY = 5


def space() -> xstar.Space:
    """What is tuned."""
    return xstar.Space(
        C=xstar.Real(1e-2, 1e3, log=True),
        gamma=xstar.Real(1e-5, 1.0, log=True),
        kernel=xstar.Categorical(["rbf", "poly", "sigmoid"]),
        degree=xstar.Integer(2, 5),
    )


@cache
def accuracy(C: float, gamma: float, kernel: str, degree: int) -> float:
    """The mean accuracy over three folds."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.svm import SVC

    X, y = load_digits(return_X_y=True)
    kept = np.random.default_rng(0).permutation(len(X))[:IMAGES]
    machine = SVC(C=C, gamma=gamma, kernel=kernel, degree=degree)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return float(cross_val_score(machine, X[kept] / 4.0, y[kept], cv=folds).mean())


def run(seed: int, budget: int) -> dict[str, Any]:
    """One study."""
    optimizer = xstar.Optimizer(space(), seed=seed)
    best, recommended, predicted, confirmed = [], [], [], []
    for n in range(1, budget + 1):
        trial = optimizer.ask(last=n == budget)
        optimizer.tell(trial, accuracy(**trial.params))
        if n % EVERY == 0:
            found, top = optimizer.recommend(), optimizer.best_observed
            assert top is not None, "none has failed"
            best.append(top.value)
            recommended.append(accuracy(**found.params))
            predicted.append(round(found.mean, 5))
            confirmed.append(found.confirmed)
    return {
        "seed": seed, "trials": list(range(EVERY, budget + 1, EVERY)), "best": best, "recommended": recommended,
        "predicted": predicted, "confirmed": confirmed,
    }  # fmt: skip


def main() -> None:
    """Run the studies and print how often the recommendation keeps up with the best trial."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    with spawned(options.jobs) as pool:
        rows = list(pool.map(run, range(options.seeds), [options.budget] * options.seeds))
    print("after    runs at least as good as the best trial    largest prediction    evaluated")
    for k, n in enumerate(rows[0]["trials"]):
        good = sum(row["recommended"][k] >= row["best"][k] - 1e-12 for row in rows)
        most, evaluated = max(row["predicted"][k] for row in rows), sum(row["confirmed"][k] for row in rows)
        print(f"{n:5d}    {good:4d} of {len(rows)}{'':34s}{most:8.4f}{'':14s}{evaluated:4d}")
    print(save("recommendation", rows, budget=options.budget, images=IMAGES))


if __name__ == "__main__":
    main()
