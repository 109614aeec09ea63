"""How well acquisitions for several outputs approximate the information about their optimum.

    python -m benchmarks.accuracy_outputs [--kind constrained] [--dimension 1] [--instances 10] [--truths FOLDER]

The truth is rejection sampling on a grid (`tests/oracles/joint_information.py`): one objective under a constraint that
half of the cube meets, or two objectives, with hyperparameters known. For each method: correlation with the true
surface, and the true information at the method's best grid point as a share of the largest: mean, median, least.
"share" is the correlation of what is said of each output with what is true of it; "level" the mean of the surface
divided by that of the truth. "random" is what a random grid point attains on average; "truth by entropies" is the truth
with entropies estimated from samples, where the truth itself has those of normal laws, as PES has.

A truth takes minutes: in the folder of --truths it is kept, and found again as long as the settings are the same. To
compare variants of JointPES against the same truths, give the settings of each:

    python -m benchmarks.accuracy_outputs --truths /tmp/truths --ours '{}' --ours '{"num_points": 1}' --no-save

Results go to benchmarks/results/accuracy_outputs.json, where those of other kinds and dimensions stay.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.special import ndtr
from scipy.stats import spearmanr

from benchmarks import measure
from experiments.rejection import regular_grid
from tests.oracles import dense_gp
from tests.oracles.joint_information import Output, Truth, joint_information
from xstar.gp import Hyperparameters, Posterior, SquaredExponential, draw_paths

NAME = "accuracy_outputs"
SIDES = {1: 60, 2: 20}
LENGTHSCALES = {1: (0.2, 0.3), 2: (0.3, 0.4)}
NOISES = (0.05, 0.1)
DATA = (6, 10)
OBJECTIVES = {"constrained": 1, "objectives": 2}
POINTS = 3
"""The most points of a P."""
LEAST = 0.05
"""Nats: an instance of which no point tells as much has nothing to choose between; the next seed is taken instead."""


class Instance(NamedTuple):
    """Data of independent Gaussian processes with an amplitude of one; objectives first, then constraints."""

    X: Any
    """Shape (n, d)."""
    y: Any
    """Shape (K, n)."""
    lengthscales: Any
    """Shape (K, d)."""
    noise: Any
    """Shape (K,)."""
    objectives: int
    bounds: tuple[float, ...]

    @property
    def posteriors(self) -> tuple[Posterior, ...]:
        """One for each output."""
        return tuple(
            Posterior(SquaredExponential(), Hyperparameters(lengthscales, 1.0, noise), self.X, y)
            for lengthscales, noise, y in zip(self.lengthscales, self.noise, self.y, strict=True)
        )

    def predict(self, points: Any) -> tuple[Any, Any]:
        """Means and variances of every output, each (K, m)."""
        moments = [post.predict(points) for post in self.posteriors]
        return np.stack([mean for mean, _ in moments]), np.stack([variance for _, variance in moments])


class Settings(NamedTuple):
    """Of the truth."""

    outer: int
    draws: int
    kept: int
    fewest: int = 200


SETTINGS = {
    ("constrained", 1): Settings(outer=3000, draws=1_000_000, kept=1_000_000),
    ("constrained", 2): Settings(outer=3000, draws=2_000_000, kept=200_000),
    ("objectives", 1): Settings(outer=3000, draws=1_000_000, kept=1_000_000),
    ("objectives", 2): Settings(outer=400, draws=1_000_000, kept=200_000),
}
Method = Callable[[Instance, Any], Any]
"""From an instance and the grid to the surface (G,), or to that of each output (K, G)."""


def find_instance(kind: str, d: int, seed: int) -> Instance:
    """Noisy values at uniform points of paths from the prior; half of the path of a constraint is feasible."""
    rng = np.random.default_rng([seed, d, list(OBJECTIVES).index(kind)])
    grid = regular_grid(SIDES[d], d)
    X = rng.random((int(rng.integers(DATA[0], DATA[1] + 1)), d))
    lengthscales = rng.uniform(*LENGTHSCALES[d], (2, d))
    noise = rng.uniform(*NOISES, 2)
    paths = []
    for scales in lengthscales:
        hyper = Hyperparameters(scales, 1.0, NOISES[0])
        prior = Posterior(SquaredExponential(), hyper, np.zeros((0, d)), np.zeros(0))
        paths.append(draw_paths(prior, 1, rng, num_features=4000)(np.concatenate([grid, X]))[0])
    y = np.stack(paths)[:, len(grid) :] + noise[:, None] * rng.standard_normal((2, len(X)))
    bounds = tuple(float(np.median(path[: len(grid)])) for path in paths[OBJECTIVES[kind] :])
    return Instance(X, y, lengthscales, noise, OBJECTIVES[kind], bounds)


def find_truth(instance: Instance, settings: Settings, seed: int) -> Truth:
    """Sample it, from the formulas of the textbook."""
    grid = regular_grid(SIDES[instance.X.shape[1]], instance.X.shape[1])
    outputs, oracle = [], cast(Any, dense_gp)
    for lengthscales, noise, y in zip(instance.lengthscales, instance.noise, instance.y, strict=True):
        variances = np.full(len(y), noise**2)
        mean, covariance = oracle.posterior(
            oracle.squared_exponential, lengthscales, 1.0, variances, instance.X, y, grid
        )
        outputs.append(Output(mean, covariance, float(noise)))
    many, rng = instance.objectives, np.random.default_rng(seed)
    return joint_information(
        outputs[:many], outputs[many:], instance.bounds, rng,
        outer=settings.outer, samples=settings.draws, points=POINTS, fewest=settings.fewest, kept=settings.kept,
    )  # fmt: skip


def keep_truth(path: Path, instance: Instance, settings: Settings, seed: int) -> Truth:
    """Read it from a file, if that was made for this instance with these settings; else sample it, and write."""
    stamp: dict[str, Any] = {f"made_{key}": np.asarray(value) for key, value in instance._asdict().items()}
    stamp["made_with"] = np.asarray(settings)
    if path.exists():
        with np.load(path) as file:
            found = dict(file)
        if all(key in found and _same(found[key], value) for key, value in stamp.items()):
            sets = [tuple(int(cell) for cell in row if cell >= 0) for row in found["sets"]]
            numbers = {key: found[key] for key in ("by_output", "halves", "weights", "counts")}
            entropy = found.get("entropy")
            covered, nowhere = float(found["covered"]), float(found["nowhere"])
            return Truth(**numbers, entropy=entropy, sets=sets, covered=covered, nowhere=nowhere)
    truth = find_truth(instance, settings, seed)
    fields: dict[str, Any] = {key: value for key, value in truth._asdict().items() if value is not None}
    fields["sets"] = np.array([[*P, *[-1] * (POINTS - len(P))] for P in truth.sets])
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.stem}.{os.getpid()}.npz")  # others may be reading
    np.savez_compressed(unfinished, **fields, **stamp)
    unfinished.replace(path)
    return truth


def _same(found: Any, value: Any) -> bool:
    """To the rounding of another machine."""
    return bool(found.shape == value.shape and np.allclose(found, value, rtol=0.0, atol=1e-8))


def expected_excess(mean: Any, sd: Any, level: Any) -> Any:
    """E max(f - level, 0)."""
    z = (mean - level) / sd
    return sd * (np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) + z * ndtr(z))


def constrained_improvement(instance: Instance, grid: Any) -> Any:
    """Expected improvement over the best feasible mean at the data, times the probability of feasibility.

    Where the mean of a constraint is feasible nowhere, the probability alone.
    """
    mean, variance = instance.predict(grid)
    sd = np.sqrt(variance)
    bounds = np.array(instance.bounds)[:, None]
    probability = np.prod(ndtr((mean[1:] - bounds) / sd[1:]), axis=0)
    at_data, _ = instance.predict(instance.X)
    feasible = np.all(at_data[1:] >= bounds, axis=0)
    if not feasible.any():
        return probability
    return probability * expected_excess(mean[0], sd[0], at_data[0, feasible].max())


def hypervolume_improvement(mean: Any, sd: Any, front: Any, reference: Any) -> Any:
    """Expected growth of the area above the reference that is below two objectives (2, m).

    The points of the front (q, 2) cut the first objective into strips; f gains, in each, what it covers of its width
    times what it is above the front there in the second.
    """
    front = front[np.all(front > reference, axis=1)]
    front = front[[not np.any(np.all(front >= p, axis=1) & np.any(front > p, axis=1)) for p in front]]
    front = front[np.argsort(front[:, 0])]
    edges = [reference[0], *front[:, 0]]
    heights = [*front[:, 1], reference[1]]
    beyond = [expected_excess(mean[0], sd[0], edge) for edge in edges] + [0.0]
    return sum(
        (near - far) * expected_excess(mean[1], sd[1], height)
        for near, far, height in zip(beyond[:-1], beyond[1:], heights, strict=True)
    )


def two_objectives_improvement(instance: Instance, grid: Any) -> Any:
    """EHVI over the means at the data, from a tenth of their range below the least of them."""
    mean, variance = instance.predict(grid)
    front = instance.predict(instance.X)[0].T
    reference = front.min(axis=0) - 0.1 * np.ptp(front, axis=0)
    return hypervolume_improvement(mean, np.sqrt(variance), front, reference)


def variance_reduction(instance: Instance, grid: Any) -> Any:
    """What an observation tells about the functions themselves, of each output."""
    _, variance = instance.predict(grid)
    return 0.5 * np.log1p(variance / instance.noise[:, None] ** 2)


def joint_pes(settings: dict[str, Any], instance: Instance, grid: Any) -> Any:
    """The share of each output, as JointPES sees it."""
    posts, many = instance.posteriors, instance.objectives
    outputs = _ours("xstar.gp", "Outputs")(objectives=posts[:many], constraints=posts[many:], bounds=instance.bounds)
    acquisition = _ours("xstar.acquisition", "JointPES")(**{"num_samples": 100, "num_points": POINTS, **settings})
    return np.asarray(acquisition.prepare(outputs, np.random.default_rng(0)).by_output(grid))


def _ours(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name, None)


def methods(kind: str, ours: Iterable[dict[str, Any]] = ({},)) -> dict[str, Method]:
    """What is compared; JointPES if it is there, once for each of some settings."""
    found: dict[str, Method] = {"variance": variance_reduction}
    if kind == "constrained":
        found["constrained EI"] = constrained_improvement
    else:
        found["EHVI"] = two_objectives_improvement
    if _ours("xstar.gp", "Outputs") is None or _ours("xstar.acquisition", "JointPES") is None:
        print("without JointPES: xstar.gp.Outputs and xstar.acquisition.JointPES cannot be imported", flush=True)
        return found
    for settings in ours:
        words = ", ".join(f"{key}={value}" for key, value in settings.items())
        found[f"JointPES({words})"] = partial(joint_pes, settings)
    return found


def compare(surface: Any, truth: Truth) -> dict[str, Any]:
    """One method on one instance; its surface is the whole (G,), or each output's (K, G)."""
    parts = np.atleast_2d(surface)
    score, total = parts.sum(axis=0), truth.total
    of_outputs = len(parts) == len(truth.by_output)
    return {
        "pearson": _pearson(score, total),
        "spearman": float(spearmanr(score, total).statistic),
        "attained": float(total[int(np.argmax(score))] / total.max()),
        "share": [_pearson(*pair) for pair in zip(parts, truth.by_output, strict=True)] if of_outputs else None,
        "level": float(score.mean() / total.mean()) if of_outputs else None,
    }


def _pearson(score: Any, truth: Any) -> float:
    """A surface without shape correlates with nothing."""
    return float(np.corrcoef(score, truth)[0, 1]) if np.ptp(score) > 0.0 and np.ptp(truth) > 0.0 else 0.0


def rows_of(
    kind: str, d: int, seed: int, settings: Settings, compared: dict[str, Method], folder: Path | None
) -> list[dict[str, Any]]:
    """Every method on one instance, and how sure its truth is; nothing where there is nothing to learn."""
    instance = find_instance(kind, d, seed)
    if folder is None:
        truth = find_truth(instance, settings, seed)
    else:
        truth = keep_truth(folder / f"{kind}_{d}d_{seed}.npz", instance, settings, seed)
    most = float(truth.total.max())
    if most < LEAST:
        return []
    about = {
        "kind": kind,
        "dimension": d,
        "seed": seed,
        "data": len(instance.X),
        "most": most,
        "shares": (truth.by_output.mean(axis=1) / truth.total.mean()).tolist(),
        "standard_error": truth.standard_error,
        "covered": truth.covered,
        "nowhere": truth.nowhere,
    }
    nothing = {"pearson": 0.0, "spearman": 0.0, "share": None, "level": None}
    found = [{"method": "random", **nothing, "attained": float(truth.total.mean()) / most}]
    grid = regular_grid(SIDES[d], d)
    for method, score in compared.items():
        start = time.process_time()
        surface = score(instance, grid)
        found.append({"method": method, **compare(surface, truth), "cpu_seconds": time.process_time() - start})
    if truth.entropy is not None:
        found.append({"method": "truth by entropies", **compare(truth.entropy, truth)})
    return [{**about, **row} for row in found]


def print_table(kind: str, d: int, rows: list[dict[str, Any]]) -> None:
    """Means over instances, a line for each method."""
    firsts = [row for row in rows if row["method"] == "random"]
    error = [row["standard_error"] / row["most"] for row in firsts]
    print(
        f"\n{kind}, {d}-d, {len(firsts)} instances, {SIDES[d]}^{d} cells; the most that a point tells: "
        f"{np.mean([row['most'] for row in firsts]):.3f} nats, standard error {np.median(error):.1%} of it (median), "
        f"{np.max(error):.1%} (largest); outer draws covered {np.min([row['covered'] for row in firsts]):.0%} or more; "
        f"draws without a feasible point {np.max([row['nowhere'] for row in firsts]):.0%} or fewer"
    )
    print(
        f"{'method':34s} {'Pearson':>8s} {'Spearman':>9s} {'mean':>7s} {'median':>7s} {'least':>7s} "
        f"{'share':>13s} {'level':>7s} {'CPU s':>7s}"
    )
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        attained = [row["attained"] for row in mine]
        pearson, spearman = (np.mean([row[key] for row in mine]) for key in ("pearson", "spearman"))
        line = f"{method:34s} {pearson:8.3f} {spearman:9.3f} "
        line += f"{np.mean(attained):7.3f} {np.median(attained):7.3f} {np.min(attained):7.3f}"
        if mine[0]["share"] is not None:
            share = np.mean([row["share"] for row in mine], axis=0)
            line += f" {' '.join(f'{part:.3f}' for part in share):>13s} {np.mean([row['level'] for row in mine]):7.3f}"
            line += f" {np.mean([row['cpu_seconds'] for row in mine]):7.2f}" if "cpu_seconds" in mine[0] else ""
        print(line, flush=True)


def store(rows: list[dict[str, Any]], made: dict[str, dict[str, Any]]) -> Path:
    """Write rows, and the settings of each kind and dimension; those of others are kept."""
    path = measure.RESULTS / f"{NAME}.json"
    earlier = json.loads(path.read_text()) if path.exists() else {"rows": [], "settings": {}}
    kept = [row for row in earlier["rows"] if f"{row['kind']}_{row['dimension']}d" not in made]
    return measure.save(NAME, kept + rows, **{**earlier["settings"], **made})


def main(arguments: list[str] | None = None) -> None:
    """Measure every method on every instance and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=[*OBJECTIVES, "all"], default="all")
    parser.add_argument("--dimension", choices=["1", "2", "all"], default="all")
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first instance (default 0)")
    parser.add_argument("--outer", type=int, help="draws of the optimum")
    parser.add_argument("--draws", type=int, help="joint draws to accept from")
    parser.add_argument("--truths", type=Path, help="a folder that keeps truths")
    parser.add_argument("--ours", type=json.loads, action="append", help="settings of JointPES, JSON; may be repeated")
    parser.add_argument("--no-save", action="store_true", help="print, and write no results")
    options = parser.parse_args(arguments)
    for kind in OBJECTIVES if options.kind == "all" else [options.kind]:
        compared = methods(kind, options.ours or [{}])
        for d in SIDES if options.dimension == "all" else [int(options.dimension)]:
            given = {"outer": options.outer, "draws": options.draws}
            settings = SETTINGS[kind, d]._replace(**{key: value for key, value in given.items() if value is not None})
            rows: list[dict[str, Any]] = []
            start = time.process_time()
            seed, done = options.first, 0
            while done < options.instances:
                found = rows_of(kind, d, seed, settings, compared, options.truths)
                rows, seed, done = rows + found, seed + 1, done + bool(found)
                seconds = time.process_time() - start
                print(f"{kind}, {d}-d: {done} of {options.instances}, {seconds:.0f} CPU s", flush=True)
            print_table(kind, d, rows)
            if not options.no_save:
                made = {"instances": options.instances, "first": options.first, "points": POINTS, **settings._asdict()}
                print(f"written: {store(rows, {f'{kind}_{d}d': made})}\n", flush=True)


if __name__ == "__main__":
    main()
