"""What one suggestion costs: ours beside Optuna's GPSampler and BoTorch's LogEI and PES, at many sizes.

    python -m benchmarks.speed [--sizes 10 50 100 200 500 1000] [--dimensions 2 6 12 20] [--repeats 3]
        [--contenders ours gpsampler botorch-logei botorch-pes] [--most-seconds 300] [--pes-up-to 100 6] [--name speed]

A suggestion is cold: its hyperparameters are fitted and nothing is left from an earlier one. Its process is fresh, has
one thread, and has made one small suggestion on other data before, so that all is imported. In every repeat each
contender gets the same n random points of a smooth function with noise, and then the next repeat has others.

    ours            Optimizer.ask with the default settings
    ours-constrained, ours-two    the same with another output, as a constraint that about half of the points meet, or
                    as another objective; not asked by default
    gpsampler       Optuna's GPSampler with the default settings: maximum a posteriori, log EI; it is up to twice as
                    fast with greenlet, and warns where that is missing
    botorch-logei   SingleTaskGP by fit_gpytorch_mll, the analytic LogExpectedImprovement over the largest value,
                    optimize_acqf with 10 restarts and 512 raw samples
    botorch-pes     the same model, 50 optima by get_optimal_samples, qPredictiveEntropySearch, optimize_acqf with 10
                    restarts, 512 raw samples and finite differences, as in BoTorch's tutorial; asked once

Printed: medians of CPU seconds, the others' seconds over ours, our memory; then our seconds by stage. A contender that
once took more than --most-seconds of CPU is not asked again, nor at larger n. Results, with wall seconds and all
memory, go to benchmarks/results/speed.json. `make peers` makes an environment with everything to compare with.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import save, spawned
from experiments.peers import as_tensors, climb, fit_model, predictive_entropy_search

FEWEST = 10
"""With fewer values than this, ours and GPSampler fill the space without a model."""
WARM_UP = {"n": 12, "d": 2, "repeat": 1_000_000}
WAVES, LENGTHSCALE, NOISE = 64, 0.4, 0.03
STAGES = ("inference", "paths", "EP", "maximization", "screening", "other")
PEERS = ".venv-peers/bin/python"

Suggest = Callable[[], object]


def data(n: int, d: int, repeat: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, d) and noisy values (n,) of a sum of random waves, as many across a diagonal in any dimension."""
    rng = np.random.default_rng([n, d, repeat])
    frequencies, phases = _waves(d, rng)
    X = rng.random((n, d))
    values = np.cos(X @ frequencies.T + phases).sum(axis=1)
    return X, values + NOISE * values.std() * rng.standard_normal(n)


def another(X: np.ndarray, seed: int) -> np.ndarray:
    """Another output (n,) of the same kind."""
    rng = np.random.default_rng([*X.shape, seed, 1])
    frequencies, phases = _waves(X.shape[1], rng)
    values = np.cos(X @ frequencies.T + phases).sum(axis=1)
    return np.asarray(values + NOISE * values.std() * rng.standard_normal(len(X)))


def _waves(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((WAVES, d)) / (LENGTHSCALE * d**0.5), rng.uniform(0.0, 2.0 * np.pi, WAVES)


# Contenders: each prepares its work and returns the suggestion that is to be measured.


def ours(X: np.ndarray, values: np.ndarray, seed: int) -> Suggest:
    """`Optimizer.ask` by information alone: those suggestions of the default that cost most."""
    import xstar

    trials = [xstar.Trial(k, _params(x), "done", float(y)) for k, (x, y) in enumerate(zip(X, values, strict=True))]
    optimizer = xstar.Optimizer.from_trials(trials, [(0.0, 1.0)] * X.shape[1], method="pes-alone", seed=seed)

    def suggest() -> xstar.Trial:
        trial = optimizer.ask()
        if trial.diagnostics["fallback"] is not None:  # a simpler method is faster, and not what is to be measured
            raise RuntimeError(f"suggested by {trial.diagnostics['method']}: {trial.diagnostics['fallback']}")
        return trial

    return suggest


def ours_with_another(X: np.ndarray, values: np.ndarray, seed: int, *, constraint: bool) -> Suggest:
    """The same for two outputs."""
    import xstar

    other = another(X, seed)
    limit = float(np.median(other))
    trials = [
        xstar.Trial(
            k, _params(x), "done", float(y) if constraint else None, values={"value": float(y), "other": float(z)}
        )
        for k, (x, y, z) in enumerate(zip(X, values, other, strict=True))
    ]
    optimizer = xstar.Optimizer.from_trials(
        trials, [(0.0, 1.0)] * X.shape[1], method="pes-alone", seed=seed,
        objectives={"value": "maximize"} if constraint else {"value": "maximize", "other": "maximize"},
        constraints={"other": (">=", limit)} if constraint else None,
    )  # fmt: skip
    return optimizer.ask


def gpsampler(X: np.ndarray, values: np.ndarray, seed: int) -> Suggest:
    """`Study.ask` of a study in memory."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.GPSampler(seed=seed, deterministic_objective=False)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    distributions: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in _params(X[0])}
    study.add_trials(
        [
            optuna.trial.create_trial(params=_params(x), distributions=distributions, value=float(y))
            for x, y in zip(X, values, strict=True)
        ]
    )

    def suggest() -> list[float]:
        trial = study.ask()
        return [trial.suggest_float(name, 0.0, 1.0) for name in distributions]

    return suggest


def botorch_logei(X: np.ndarray, values: np.ndarray, seed: int) -> Suggest:
    """A fitted SingleTaskGP and the analytic LogEI."""
    import torch
    from botorch.acquisition import LogExpectedImprovement

    torch.manual_seed(seed)
    x, y, bounds = as_tensors(X, values)
    return lambda: climb(LogExpectedImprovement(fit_model(x, y), best_f=y.max()), bounds)


def botorch_pes(X: np.ndarray, values: np.ndarray, seed: int) -> Suggest:
    """The same model and PES, climbed by finite differences: its gradients are not to be relied on."""
    import torch

    torch.manual_seed(seed)
    x, y, bounds = as_tensors(X, values)
    return lambda: climb(predictive_entropy_search(fit_model(x, y), bounds), bounds, with_grad=False)


def _params(x: np.ndarray) -> dict[str, float]:
    return {f"x{k}": float(value) for k, value in enumerate(x)}


class Contender(NamedTuple):
    """Who suggests."""

    prepare: Callable[[np.ndarray, np.ndarray, int], Suggest]
    needs: tuple[str, ...]
    """Packages beyond our own."""


CONTENDERS = {
    "ours": Contender(ours, ()),
    "ours-constrained": Contender(partial(ours_with_another, constraint=True), ()),
    "ours-two": Contender(partial(ours_with_another, constraint=False), ()),
    "gpsampler": Contender(gpsampler, ("torch",)),
    "botorch-logei": Contender(botorch_logei, ("torch", "botorch")),
    "botorch-pes": Contender(botorch_pes, ("torch", "botorch")),
}


# Measuring


class Cost(NamedTuple):
    """What one suggestion cost."""

    cpu_seconds: float
    wall_seconds: float
    before_mb: float
    """What the process held before it."""
    peak_mb: float
    """The most that it held meanwhile."""
    stages: dict[str, float]
    """CPU seconds; empty for the others. The screening is a part of the maximization: the rest is the climbing."""


@dataclass
class Stopwatch:
    """CPU seconds inside some functions."""

    seconds: dict[str, float]

    def attach(self, owner: Any, function: str, stage: str) -> None:
        """From now on, the time in a function of a module or class counts for a stage."""
        original = getattr(owner, function)

        @wraps(original)
        def timed(*args: Any, **settings: Any) -> Any:
            start = time.process_time()
            try:
                return original(*args, **settings)
            finally:
                self.seconds[stage] += time.process_time() - start

        setattr(owner, function, timed)


def watch_stages() -> Stopwatch:
    """A stopwatch at the stages of our suggestions."""
    from xstar.acquisition import pes, prepared
    from xstar.engine import cache, model

    watch = Stopwatch(dict.fromkeys(STAGES, 0.0))
    watch.attach(cache, "fit", "inference")
    watch.attach(pes, "draw_maximizers", "paths")
    watch.attach(pes, "condition", "EP")
    watch.attach(model.Model, "maximize", "maximization")
    watch.attach(prepared.Prepared, "screen", "screening")
    return watch


def suggest_once(who: str, n: int, d: int, repeat: int) -> Cost:
    """Make one suggestion in this process, which is a fresh one."""
    prepare, needs = CONTENDERS[who]
    if "torch" in needs:
        import torch

        torch.set_num_threads(1)
    prepare(*data(**WARM_UP), repeat)()
    watch = watch_stages() if who == "ours" else None
    suggest = prepare(*data(n, d, repeat), repeat)
    _forget_peak()
    before = _resident_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    suggest()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    stages: dict[str, float] = {}
    if watch is not None:
        stages = watch.seconds
        stages["other"] = cpu - sum(stages[stage] for stage in ("inference", "paths", "EP", "maximization"))
    return Cost(cpu, wall, before, _peak_mb(), stages)


def _resident_mb() -> float:
    """What the process holds now; where that cannot be read, the most it ever held."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() / 2**20 if statm.exists() else _peak_mb()


def _forget_peak() -> None:
    """So that the peak is the suggestion's own, and not that of the warm-up; outside Linux it may be the latter."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def measure_all(contenders: Sequence[str], n: int, d: int, repeats: int, most: float) -> dict[str, list[Cost]]:
    """The costs of each contender that was asked, in turn with the others; none is asked again after `most` seconds."""
    costs: dict[str, list[Cost]] = {who: [] for who in contenders}
    for repeat in range(repeats):
        for who in contenders:
            if (repeat > 0 and who == "botorch-pes") or any(cost.cpu_seconds > most for cost in costs[who]):
                continue
            with spawned(1) as pool:
                costs[who].append(pool.submit(suggest_once, who, n, d, repeat).result())
    return costs


def summary(costs: list[Cost]) -> dict[str, Any]:
    """Medians, and the CPU seconds of all runs."""
    row: dict[str, Any] = {
        key: statistics.median(getattr(cost, key) for cost in costs)
        for key in ("cpu_seconds", "wall_seconds", "before_mb", "peak_mb")
    }
    stages = {stage: statistics.median(cost.stages[stage] for cost in costs) for stage in costs[0].stages}
    return {**row, **({"stages": stages} if stages else {}), "runs": [cost.cpu_seconds for cost in costs]}


# Printing


def header(contenders: Sequence[str]) -> str:
    """The heads of the columns of `line`."""
    cells = "".join(f"{who:>15s}" for who in contenders)
    ratios = "".join(f"{who + '/ours':>20s}" for who in contenders if who != "ours")
    return f"{'d':>3s}{'n':>6s}{cells}{ratios}{'ours, MB':>14s}"


def line(row: dict[str, Any], contenders: Sequence[str]) -> str:
    """CPU seconds, ratios to ours, and our memory before the suggestion and at its peak."""
    seconds = {who: row[who]["cpu_seconds"] for who in contenders if row[who] is not None}
    mine = row.get("ours")
    cells = "".join(f"{_cell(seconds.get(who), 3):>15s}" for who in contenders)
    for who in contenders:
        if who != "ours":
            ratio = seconds[who] / seconds["ours"] if mine is not None and who in seconds else None
            cells += f"{_cell(ratio, 2):>20s}"
    memory = "-" if mine is None else f"{_cell(mine['before_mb'], 0)} -> {_cell(mine['peak_mb'], 0)}"
    return f"{row['d']:3d}{row['n']:6d}{cells}{memory:>14s}"


def _cell(number: float | None, digits: int) -> str:
    return "-" if number is None else f"{number:.{digits}f}"


def print_stages(rows: list[dict[str, Any]]) -> None:
    """CPU seconds of ours by stage."""
    print("\nours by stage, CPU seconds; screening and climbing are parts of maximization")
    shown = ("inference", "paths", "EP", "maximization", "screening", "climbing", "other")
    print(f"{'d':>3s}{'n':>6s}" + "".join(f"{stage:>14s}" for stage in shown))
    for row in rows:
        if row["ours"] is not None:
            stages = dict(row["ours"]["stages"])
            stages["climbing"] = stages["maximization"] - stages["screening"]
            print(f"{row['d']:3d}{row['n']:6d}" + "".join(f"{stages[stage]:14.3f}" for stage in shown))


def available(contenders: Sequence[str]) -> list[str]:
    """The contenders whose packages are installed; says how to have the others."""
    missing = {
        who: [package for package in CONTENDERS[who].needs if not importlib.util.find_spec(package)]
        for who in contenders
    }
    if any(missing.values()):
        left_out = ", ".join(f"{who} (no {' or '.join(needs)})" for who, needs in missing.items() if needs)
        first = "" if Path(PEERS).exists() else "make peers, then "
        print(f"left out: {left_out}. To have all: {first}{PEERS} -m benchmarks.speed")
    return [who for who in contenders if not missing[who]]


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 50, 100, 200, 500, 1000], metavar="N")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 6, 12, 20], metavar="D")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--most-seconds", type=float, default=300.0, help="who took longer is not asked at larger n")
    parser.add_argument("--pes-up-to", type=int, nargs=2, default=[100, 6], metavar=("N", "D"), help="for botorch-pes")
    parser.add_argument("--name", default="speed", help="of the results file")
    options = parser.parse_args()
    if min(options.sizes) < FEWEST:
        parser.error(f"sizes start at {FEWEST}; below, not every contender uses a model.")
    return options


def main() -> None:
    """Print the tables."""
    options = arguments()
    contenders = available(options.contenders)
    print(f"CPU seconds of one suggestion on one thread, medians of {options.repeats}")
    print(header(contenders), flush=True)
    rows: list[dict[str, Any]] = []
    for d in sorted(set(options.dimensions)):
        asked = list(contenders)
        for n in sorted(set(options.sizes)):
            if n > options.pes_up_to[0] or d > options.pes_up_to[1]:
                asked = [who for who in asked if who != "botorch-pes"]
            costs = measure_all(asked, n, d, options.repeats, options.most_seconds)
            asked = [who for who in asked if max(cost.cpu_seconds for cost in costs[who]) <= options.most_seconds]
            found = {who: summary(costs[who]) if who in costs else None for who in contenders}
            rows.append({"n": n, "d": d, **found})
            print(line(rows[-1], contenders), flush=True)
    if "ours" in contenders:
        print_stages(rows)
    settings = {key: value for key, value in vars(options).items() if key != "name"}
    print(f"wrote {save(options.name, rows, **settings, noise=NOISE)}")


if __name__ == "__main__":
    main()
