"""What the numerical core costs, beside the obvious way with scikit-learn or SciPy.

    python -m benchmarks.core [--repeats 3]

CPU seconds on one thread (median), peak memory, ratio. Results go to benchmarks/results/core.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.measure import measure, save
from benchmarks.problems import hyper_samples, observations, path_posterior, plain_path
from tests.oracles.slice_sampling import slice_sample
from xstar.gp import Posterior, SliceSampling, SquaredExponential, draw_paths
from xstar.methods import INDEPENDENT
from xstar.numerics.arrays import HostArray
from xstar.numerics.designs import sobol
from xstar.search import BoxSearch, draw_candidates

NUM_HYPER, NUM_POINTS, NUM_PATHS, NUM_FEATURES = 10, 1000, 50, 512
SCIPY_STARTS = 5
CHAINS, SWEEPS = 5, 10
"""Of coordinate-wise slice sampling: each chain warms up for 6 sweeps and keeps two of the other four."""
LENGTHSCALES = {2: 0.316, 6: 0.5}


def predict(n: int, d: int) -> Callable[[], Any]:
    """Factor and predict at 1000 points, for 10 hyperparameter samples at once."""
    X, y = observations(n, d, seed=0)
    hyper, Z = hyper_samples(NUM_HYPER, d, seed=1), np.random.default_rng(2).random((NUM_POINTS, d))

    def work() -> float:
        mean, _ = Posterior(SquaredExponential(), hyper, X, y).predict(Z)
        return float(mean.mean())

    return work


def predict_sklearn(n: int, d: int) -> Callable[[], Any]:
    """The same with one GaussianProcessRegressor for each hyperparameter sample."""
    X, y = observations(n, d, seed=0)
    hyper, Z = hyper_samples(NUM_HYPER, d, seed=1), np.random.default_rng(2).random((NUM_POINTS, d))

    def work() -> float:
        means = []
        for k in range(NUM_HYPER):
            kernel = ConstantKernel(hyper.variance[k]) * RBF(hyper.lengthscales[k])
            model = GaussianProcessRegressor(kernel, alpha=hyper.noise_variance[k], optimizer=None).fit(X, y)
            means.append(model.predict(Z, return_std=True)[0])
        return float(np.mean(means))

    return work


def sample(n: int, d: int) -> Callable[[], Any]:
    """Ten hyperparameter samples: the mode, then slice sampling with the default settings."""
    X, y = observations(n, d, seed=0)

    def work() -> float:
        inferred = SliceSampling(num_samples=NUM_HYPER, prior=INDEPENDENT).infer(
            SquaredExponential(), X, y, np.random.default_rng(3)
        )
        return float(inferred.evaluations)

    return work


def sample_sklearn(n: int, d: int) -> Callable[[], Any]:
    """The same number of samples, coordinate by coordinate, on scikit-learn's likelihood, one vector at a time."""
    X, y = observations(n, d, seed=0)
    prior = INDEPENDENT
    lower, upper = prior.box(d)
    kernel = ConstantKernel(1.0) * RBF(np.ones(d)) + WhiteKernel(0.01)
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)

    evaluations = 0

    def log_density(theta: HostArray) -> float:
        nonlocal evaluations
        evaluations += 1
        # scikit-learn's order and scale: log variance, log lengthscales, log noise variance.
        vector = np.concatenate([[2.0 * theta[-2]], theta[:-2], [2.0 * theta[-1]]])
        log_likelihood = model.log_marginal_likelihood(vector, clone_kernel=False)
        return float(log_likelihood + prior.log_density_and_gradient(theta)[0])

    def work() -> float:
        nonlocal evaluations
        evaluations, rng = 0, np.random.default_rng(3)
        for _ in range(CHAINS):
            slice_sample(log_density, prior.median(d), rng, sweeps=SWEEPS, width=2.0, lower=lower, upper=upper)
        return float(evaluations)

    return work


def maximize(d: int) -> Callable[[], Any]:
    """Draw 50 paths and maximize all of them together."""
    post = path_posterior("se", d, LENGTHSCALES[d], n=20, seed=4)

    def work() -> float:
        rng = np.random.default_rng(5)
        paths = draw_paths(post, NUM_PATHS, rng, num_features=NUM_FEATURES)
        found = BoxSearch().maximize(paths, draw_candidates(1024, post.data.X, rng))
        return float(np.mean(found.value))

    return work


def maximize_scipy(d: int) -> Callable[[], Any]:
    """Draw 50 paths and maximize one after the other: L-BFGS-B from the best 5 of 1024 Sobol points and the data."""
    post = path_posterior("se", d, LENGTHSCALES[d], n=20, seed=4)

    def work() -> float:
        rng = np.random.default_rng(5)
        paths = draw_paths(post, NUM_PATHS, rng, num_features=NUM_FEATURES)
        candidates = np.concatenate([sobol(1024, d, rng), post.data.X])
        values = paths(candidates)
        best = []
        for p in range(NUM_PATHS):
            starts = candidates[np.argsort(-values[p])[:SCIPY_STARTS]]
            negative = plain_path(paths, p)
            runs = [minimize(negative, x, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * d) for x in starts]
            best.append(max(-run.fun for run in runs))
        return float(np.mean(best))

    return work


TASKS = [
    *(("factor + predict, H=10, m=1000", predict, predict_sklearn, {"n": n, "d": 6}) for n in (50, 200, 1000)),
    *(("mode + 10 slice samples", sample, sample_sklearn, {"n": n, "d": 6}) for n in (50, 200)),
    *(("50 paths drawn, maximized", maximize, maximize_scipy, {"d": d}) for d in (2, 6)),
]
SHOWN = {predict: "mean prediction", sample: "likelihood evaluations", maximize: "mean maximum"}


def main() -> None:
    """Measure every task beside its rival and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="timed repeats of each task (default 3)")
    repeats = parser.parse_args().repeats
    print("CPU seconds on one thread, peak memory above preparation in MB; ratio: rival's seconds / ours")
    print(f"{'task':31s} {'size':13s} {'ours':>8s} {'MB':>5s} {'rival':>8s} {'MB':>5s} {'ratio':>6s}   ours, rival")
    rows: list[dict[str, Any]] = []
    for title, task, rival, settings in TASKS:
        ours = measure("benchmarks.core", task.__name__, repeats, **settings)
        theirs = measure("benchmarks.core", rival.__name__, repeats, **settings)
        rows.append({"task": title, **settings, "ours": ours._asdict(), "rival": theirs._asdict()})
        size = ", ".join(f"{key}={value}" for key, value in settings.items())
        print(
            f"{title:31s} {size:13s} {ours.cpu_seconds:8.3f} {ours.peak_mb:5.0f} {theirs.cpu_seconds:8.3f} "
            f"{theirs.peak_mb:5.0f} {theirs.cpu_seconds / ours.cpu_seconds:6.1f}   "
            f"{SHOWN[task]}: {ours.result:.5g}, {theirs.result:.5g}",
            flush=True,
        )
    print(f"written: {save('core', rows, repeats=repeats)}")


if __name__ == "__main__":
    main()
