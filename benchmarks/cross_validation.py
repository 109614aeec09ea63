"""`XstarSearchCV` beside scikit-learn's `RandomizedSearchCV`: the same spaces, candidates, folds and data, in one run.

    python -m benchmarks.cross_validation [--seeds 8] [--candidates 20] [--problems svc,tree] [--noise half,learned]

Each seed splits the data anew, searches on one part with five folds, and scores what was refitted on the other. Printed
are the cross-validated score of the candidate chosen, and its score on the data held out, each with the gain over
random search and its standard error over seeds. `--noise` compares what is told of fold scores: "half" of the standard
error of what a candidate does beyond what all do, as `XstarSearchCV` has it; the "whole" of it; nothing, so that noise
is "learned" from the values; or the "spread" of the fold scores as it is. Results go to
benchmarks/results/cross_validation.json.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.stats import loguniform, randint, uniform

from benchmarks.measure import save
from xstar.integrations.sklearn import XstarSearchCV
from xstar.integrations.sklearn.folds import INDEPENDENT, noise_of_means
from xstar.numerics.arrays import HostArray

RANDOM = "random"
NOISES: dict[str, Callable[[HostArray], HostArray]] = {
    "half": noise_of_means,
    "whole": lambda scores: noise_of_means(scores) / INDEPENDENT,
    "learned": lambda scores: np.full(len(scores), np.nan),
    "spread": lambda scores: scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1]),
}
"""What may be told of the scores of candidates (n, K)."""


class Problem(NamedTuple):
    """An estimator and what of it is tuned; both searches take SciPy's distributions."""

    data: str
    num_train: int
    estimator: Any
    space: dict[str, Any]


def problems() -> dict[str, Problem]:
    """Return them by name."""
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "svc": Problem("digits", 500, SVC(), {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-6, 1.0)}),
        "ridge": Problem(
            "diabetes", 250, make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")),
            {"kernelridge__alpha": loguniform(1e-4, 1e2), "kernelridge__gamma": loguniform(1e-5, 1.0)},
        ),
        "tree": Problem(
            "breast_cancer", 350, DecisionTreeClassifier(random_state=0),
            {
                "max_depth": randint(1, 21), "min_samples_leaf": randint(1, 51), "ccp_alpha": loguniform(1e-4, 0.1),
                "criterion": ["gini", "entropy"],
            },
        ),
        "boosting": Problem(
            "diabetes", 300, GradientBoostingRegressor(random_state=0),
            {
                "n_estimators": randint(10, 151), "learning_rate": loguniform(1e-2, 1.0), "max_depth": randint(1, 5),
                "subsample": uniform(0.3, 0.7),
            },
        ),
    }  # fmt: skip


def run(problem: Problem, name: str, seed: int, candidates: int) -> dict[str, float]:
    """One search: at random, or with a kind of noise."""
    from sklearn import datasets
    from sklearn.base import is_classifier
    from sklearn.model_selection import RandomizedSearchCV, train_test_split

    X, y = getattr(datasets, f"load_{problem.data}")(return_X_y=True)
    stratify = y if is_classifier(problem.estimator) else None
    X, X_test, y, y_test = train_test_split(X, y, train_size=problem.num_train, random_state=seed, stratify=stratify)
    kind = RandomizedSearchCV if name == RANDOM else XstarSearchCV
    search = kind(problem.estimator, problem.space, n_iter=candidates, cv=5, random_state=seed)
    began = time.perf_counter()
    with mock.patch("xstar.integrations.sklearn.search.noise_of_means", NOISES.get(name)):
        search.fit(X, y)
    seconds = time.perf_counter() - began
    return {"cv": float(search.best_score_), "held_out": float(search.score(X_test, y_test)), "seconds": seconds}


def main() -> None:
    """Run all searches and print both scores of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--problems", default=",".join(problems()))
    parser.add_argument("--noise", default="half")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    print(f"{'problem':10s}{'search':10s}{'cv score':>10s}{'gain':>20s}{'held out':>10s}{'gain':>20s}{'seconds':>9s}")
    for problem in options.problems.split(","):
        of_random: list[dict[str, float]] = []
        for name in (RANDOM, *options.noise.split(",")):
            found = [run(problems()[problem], name, seed, options.candidates) for seed in range(options.seeds)]
            of_random = of_random or found
            rows += [{"problem": problem, "search": name, "seed": seed, **row} for seed, row in enumerate(found)]
            print(f"{problem:10s}{name:10s}", end="")
            for score in ("cv", "held_out"):
                mine, theirs = (np.array([row[score] for row in all_rows]) for all_rows in (found, of_random))
                gain, error = (mine - theirs).mean(), (mine - theirs).std(ddof=1) / np.sqrt(len(mine))
                print(f"{mine.mean():10.4f}{f'{gain:+.4f} ± {error:.4f}':>20s}", end="")
            print(f"{np.mean([row['seconds'] for row in found]):9.1f}", flush=True)
    print(save("cross_validation", rows, candidates=options.candidates))


if __name__ == "__main__":
    main()
