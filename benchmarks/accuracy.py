"""How well each acquisition approximates the information about the maximizer that it stands for.

    python -m benchmarks.accuracy [--datasets 20] [--setting 2d] [--samples 200] [--draws 60000]

The truth is the paper's rejection sampling (figure 1) on two grids of the same draws; hyperparameters are known. For
each method: correlation with the true surface (Pearson, Spearman), and the true information at the method's best grid
point as a share of the largest: mean, median, least. Results go to benchmarks/results/accuracy_<setting>.json.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from benchmarks.measure import save
from experiments.rejection import Gain, information_gain, joint_draws, regular_grid
from xstar.acquisition import EI, ES, MES, PES, Acquisition
from xstar.entropy import draw_maximizers
from xstar.gp import Hyperparameters, Posterior, SquaredExponential, draw_paths


class Setting(NamedTuple):
    """A kind of data set, and the sides of the fine and the coarse grid."""

    d: int
    n: int
    noise: float
    fine: int
    coarse: int


SETTINGS = {
    "2d": Setting(2, 10, 1e-3, 49, 25),
    "1d": Setting(1, 4, 1e-3, 201, 101),
    "3d": Setting(3, 20, 1e-3, 13, 7),
    "noisy": Setting(2, 10, 0.1, 49, 25),
    "noisier": Setting(2, 10, 0.316, 49, 25),
}
LENGTHSCALE = 0.1**0.5
FEATURES = 1000
ZOOMED_SIDE = 41


def methods(samples: int) -> dict[str, Acquisition]:
    """What is compared; without competing points f(x_star) need beat the largest observation only."""
    return {
        "PES": PES(samples, FEATURES),
        "PES, no competing points": PES(samples, FEATURES, incumbent="paper"),
        "PES of 2014": PES(samples, FEATURES, boundary="paper", incumbent="paper", paths="weights"),
        "ES": ES(),
        "MES": MES(samples, FEATURES),
        "EI": EI(),
    }


def data_set(setting: Setting, seed: int) -> Posterior:
    """Noisy values of a draw from the prior at uniform points, and their posterior."""
    rng = np.random.default_rng(seed)
    hyper = Hyperparameters(np.full(setting.d, LENGTHSCALE), 1.0, setting.noise)
    nothing = Posterior(SquaredExponential(), hyper, np.zeros((0, setting.d)), np.zeros(0))
    X = rng.random((setting.n, setting.d))
    y = draw_paths(nothing, 1, rng, num_features=4000)(X)[0] + setting.noise * rng.standard_normal(setting.n)
    return Posterior(SquaredExponential(), hyper, X, y)


def truths(post: Posterior, setting: Setting, draws: int, seed: int) -> dict[str, Gain]:
    """The gain on the fine grid and on the coarse one, whose points are every other of it."""
    rng = np.random.default_rng(1000 + seed)
    grid = regular_grid(setting.fine, setting.d)
    mean, covariance = post.joint(grid)
    sampled = joint_draws(mean, covariance, draws, rng)
    fine = information_gain(grid, sampled, np.diag(covariance), setting.noise, rng)
    steps = grid * (setting.coarse - 1)
    every = np.all(np.abs(steps - np.round(steps)) < 1e-9, axis=1)
    coarse = information_gain(grid[every], sampled[:, every], np.diag(covariance)[every], setting.noise, rng)
    return {"fine": fine, "coarse": coarse}


def zoomed_truth(post: Posterior, setting: Setting, draws: int, seed: int) -> dict[str, Gain]:
    """The gain at the coarse points, for maxima resolved by more cells where most of them lie.

    Where p(x_star | D) is a few cells wide, knowing the cell is much less than knowing x_star, and the truth on a
    regular grid is too small and too flat.
    """
    rng = np.random.default_rng(1000 + seed)
    coarse = regular_grid(setting.coarse, setting.d)
    x = draw_maximizers(post.joined(), 500, rng, num_features=FEATURES).x[0, 0]
    lower, upper = np.quantile(x, 0.02, axis=0), np.quantile(x, 0.98, axis=0)
    margin = 0.1 * (upper - lower) + 0.01
    lower, upper = np.maximum(lower - margin, 0.0), np.minimum(upper + margin, 1.0)
    cells = np.concatenate([coarse, lower + (upper - lower) * regular_grid(ZOOMED_SIDE, setting.d)])
    mean, covariance = post.joint(cells)
    sampled = joint_draws(mean, covariance, draws, rng)
    gain = information_gain(cells, sampled, np.diag(covariance), setting.noise, rng)
    return {"zoomed": gain._replace(grid=coarse, gain=gain.gain[: len(coarse)], counts=gain.counts[: len(coarse)])}


def compare(score: Any, truth: Any) -> dict[str, float]:
    """One method on one data set and grid."""
    best = truth.gain[int(np.argmax(score))]
    flat = np.ptp(score) == 0.0  # a surface without shape correlates with nothing
    return {
        "pearson": 0.0 if flat else float(np.corrcoef(score, truth.gain)[0, 1]),
        "spearman": 0.0 if flat else float(spearmanr(score, truth.gain).statistic),
        "attained": float(best / truth.gain.max()),
    }


def main() -> None:
    """Measure every method on every data set and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--setting", choices=[*SETTINGS, "all"], default="2d")
    parser.add_argument("--samples", type=int, default=200, help="draws of the maximizer (default 200)")
    parser.add_argument("--draws", type=int, default=60_000, help="joint draws for the truth (default 60000)")
    parser.add_argument("--zoom", action="store_true", help="more cells where the maxima lie, for two dimensions")
    options = parser.parse_args()
    for name in SETTINGS if options.setting == "all" else [options.setting]:
        setting = SETTINGS[name]
        rows: list[dict[str, Any]] = []
        start = time.process_time()
        for seed in range(options.datasets):
            post = data_set(setting, seed)
            find = zoomed_truth if options.zoom else truths
            for grid_name, truth in find(post, setting, options.draws, seed).items():
                for method, acquisition in methods(options.samples).items():
                    score = acquisition.prepare(post, np.random.default_rng(seed))(truth.grid)
                    rows.append(
                        {
                            "method": method,
                            "grid": grid_name,
                            "seed": seed,
                            "coverage": truth.coverage,
                            **compare(score, truth),
                        }
                    )
            print(
                f"{name}: data set {seed + 1} of {options.datasets}, {time.process_time() - start:.0f} CPU s",
                flush=True,
            )
        print_table(name, setting, rows)
        file = f"accuracy_{name}_zoomed" if options.zoom else f"accuracy_{name}"
        print(f"written: {save(file, rows, **setting._asdict(), **vars(options))}\n", flush=True)


def print_table(name: str, setting: Setting, rows: list[dict[str, Any]]) -> None:
    """Means over data sets, a line for each method and grid."""
    print(f"\n{name}: {setting.n} points in [0, 1]^{setting.d}, noise variance {setting.noise**2:.2g}")
    print(f"{'grid':14s} {'method':25s} {'Pearson':>8s} {'Spearman':>9s} {'mean':>7s} {'median':>7s} {'least':>7s}")
    cells = {
        "fine": f"{setting.fine}^{setting.d} cells",
        "coarse": f"{setting.coarse}^{setting.d} cells",
        "zoomed": "zoomed",
    }
    for grid in dict.fromkeys(row["grid"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows):
            mine = [row for row in rows if row["method"] == method and row["grid"] == grid]
            attained = [row["attained"] for row in mine]
            pearson, spearman = (np.mean([row[key] for row in mine]) for key in ("pearson", "spearman"))
            print(
                f"{cells[grid]:14s} {method:25s} {pearson:8.3f} {spearman:9.3f} {np.mean(attained):7.3f} "
                f"{np.median(attained):7.3f} {np.min(attained):7.3f}"
            )


if __name__ == "__main__":
    main()
