"""Figure 1: what an observation at x is expected to tell about the maximizer, by rejection sampling, ES and PES.

Ten measurements at uniform points of a function of the model; hyperparameters are known. The truth is rejection
sampling on a grid [HHG14, section 3], the others are the methods' scores with the paper's 200 samples and 1000
features.
Several data sets are measured; the figure shows the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from experiments.problems import Rows, find_problem
from experiments.problems.within_model import LENGTHSCALE
from experiments.rejection import information_gain, joint_draws, regular_grid
from experiments.store import versions, write_json
from xstar.acquisition import ES, PES, Acquisition
from xstar.gp import Hyperparameters, Posterior, SquaredExponential

SIDE = 49
"""Of the grid, edges included."""
MEASUREMENTS, SEED = 10, 0x57A3
DRAWS = 60_000
"""Joint draws of f on the grid for the truth."""
SAMPLES, FEATURES = 200, 1000
TRUTH = "RS"
METHODS: dict[str, Callable[[], Acquisition]] = {
    "ES": ES,
    "PES, 2014": lambda: PES(SAMPLES, FEATURES, boundary="paper", incumbent="paper", paths="weights"),
    "PES of xstar": lambda: PES(SAMPLES, FEATURES),
}


def data_set(number: int) -> Posterior:
    """The posterior of a function of the model, measured at uniform points."""
    problem = find_problem("within-model", number)
    rng = np.random.default_rng([SEED, number])
    X = rng.random((MEASUREMENTS, problem.dimension))
    y = problem.values(X) + problem.noise * rng.standard_normal(MEASUREMENTS)
    known = Hyperparameters(np.full(problem.dimension, LENGTHSCALE), 1.0, problem.noise)
    return Posterior(SquaredExponential(), known, X, y)


def surfaces(number: int, draws: int = DRAWS, side: int = SIDE) -> dict[str, Rows]:
    """The information about the maximizer in nats at every point of the grid, the truth first; shapes (side^2,)."""
    post = data_set(number)
    rng = np.random.default_rng([SEED, number, 1])
    grid = regular_grid(side, 2)
    mean, covariance = post.joint(grid)
    sampled = joint_draws(mean, covariance, draws, rng)
    truth = information_gain(grid, sampled, np.diag(covariance), float(post.hyper.noise), rng).gain
    scores = {
        name: make().prepare(post, np.random.default_rng([SEED, number, 2]))(grid) for name, make in METHODS.items()
    }
    return {TRUTH: np.asarray(truth), **scores}


def likeness(found: dict[str, Rows]) -> dict[str, dict[str, float]]:
    """Of each method's surface to the truth: correlations, and the true information at its best point as a share."""
    truth = found[TRUTH]
    return {
        name: {
            "pearson": float(np.corrcoef(score, truth)[0, 1]),
            "spearman": float(spearmanr(score, truth).statistic),
            "attained": float(truth[int(np.argmax(score))] / truth.max()),
        }
        for name, score in found.items()
        if name != TRUTH
    }


def measure(count: int, draws: int = DRAWS, report: Callable[[int], None] | None = None) -> dict[str, Any]:
    """Results of several data sets, with the surfaces of the first."""
    rows, shown = [], {}
    for number in range(count):
        found = surfaces(number, draws)
        rows.append({"data_set": number, **likeness(found)})
        if number == 0:
            shown = {name: [float(f"{value:.4g}") for value in surface] for name, surface in found.items()}
        if report is not None:
            report(number)
    return {
        "versions": versions(), "draws": draws, "side": SIDE, "samples": SAMPLES, "features": FEATURES,
        "likeness": rows, "surfaces": shown, "measured_at": data_set(0).data.X.tolist(),
    }  # fmt: skip


def save(path: Path, content: dict[str, Any]) -> None:
    """Write results."""
    write_json(path, content)


def load(path: Path) -> dict[str, Any]:
    """Read results."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
