"""How the cost and the memory of a suggestion grow, one thing at a time, beside what the formulas say.

    python -m benchmarks.scale [--repeats 3] [--most-seconds 60] [--once-above 20] [--only n exact d M k H] [--again]

From a base of n = 100 values of a function of d = 6 coordinates, M = 50 sampled maximizers, H = 10 hyperparameter
samples and one point at a time, each series changes one:

    n        values, as used by default: above 300, the model takes 300 of them
    exact    the same without thinning
    d        coordinates
    M        PES(num_samples=M)
    k        points of a batch, `ask(k)`; per point
    H        SliceSampling(num_samples=H)

A suggestion is cold, in a fresh process with one thread, as in `benchmarks.speed`, whose data it has. Printed: medians
of CPU seconds, of each stage, and of the memory on top of what the process held before; then the slope of log seconds
between the last two points, measured, and as the formulas have it: each stage's time at the base times the ratio of its
operations. The formulas need counts that nobody can know before (how often the likelihood was computed, the points at
which paths and scores were climbed, the sweeps of EP): they are counted in the same runs. A size that took more than
--once-above seconds is measured once, and one that took more than --most-seconds is the last of its series.

Results go to benchmarks/results/scale.json and scale.png; --again prints and draws them without measuring.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from benchmarks import speed
from benchmarks.measure import RESULTS, load, save, spawned

FEATURES, PATH_CANDIDATES, SCORE_CANDIDATES = 512, 1024, 512
FEATURE_SETS, SCREENED, RIVALS, BEST, CENTERS, SPRAY = 10, 10, 13, 3, 6, 24
"""Settings of the library, as `docs/scale.md` names them. Rivals: three of the data and up to ten maximizers."""
THINNED = 300
KERNEL, COSINE, JET, SMALL = 200, 30, 6, 400
"""In operations of a matrix product: a value of a kernel, a float32 cosine, an entry of cov(f(x), T f); and what n is
to be increased by so that a factorization, slow for small n, takes n^3 / 3. `rates` times all but JET."""
STAGES = ("inference", "paths", "conditioning", "EP", "screening", "climbing", "other")
NEVER_THIN = 10**9


class Setting(NamedTuple):
    """What is varied."""

    n: int = 100
    d: int = 6
    M: int = 50
    H: int = 10
    k: int = 1
    exact: bool = False


SERIES: dict[str, tuple[Setting, ...]] = {
    "n": tuple(Setting(n=n) for n in (10, 30, 100, 300, 1000, 3000)),
    "exact": tuple(Setting(n=n, exact=n > THINNED) for n in (100, 300, 500, 1000, 2000)),
    "d": tuple(Setting(d=d) for d in (1, 2, 4, 6, 12, 20)),
    "M": tuple(Setting(M=M) for M in (10, 20, 50, 100, 200)),
    "k": tuple(Setting(k=k) for k in (1, 2, 4, 8)),
    "H": tuple(Setting(H=H) for H in (5, 10, 20)),
}
NAMES = {
    "n": "values n, thinned to 300",
    "exact": "values n, not thinned",
    "d": "coordinates d",
    "M": "sampled maximizers M",
    "k": "points of a batch k, cost per point",
    "H": "hyperparameter samples H",
}


def place(name: str, setting: Setting) -> int:
    """What a series varies."""
    return int(getattr(setting, "n" if name == "exact" else name))


# Measuring


class Sample(NamedTuple):
    """One run."""

    cpu_seconds: float
    more_mb: float
    """The most that the process held, on top of what it held before."""
    stages: dict[str, float]
    counts: dict[str, int]


def count(counts: dict[str, int], owner: Any, function: str, name: str, size: Callable[..., int]) -> None:
    """From now on, calls of a function add to a count."""
    original = getattr(owner, function)

    @wraps(original)
    def counted(*args: Any, **settings: Any) -> Any:
        counts[name] = counts.get(name, 0) + size(*args)
        return original(*args, **settings)

    setattr(owner, function, counted)


def count_work() -> dict[str, int]:
    """Counts of what the formulas cannot know."""
    from xstar.acquisition.pes import PESScore
    from xstar.entropy import ep
    from xstar.gp.likelihood import MarginalLikelihood
    from xstar.gp.paths import Paths

    counts: dict[str, int] = {}
    count(counts, MarginalLikelihood, "value", "likelihoods", lambda _, theta: math.prod(theta.shape[:2]))
    count(counts, MarginalLikelihood, "value_and_gradient", "slopes", lambda _, theta: math.prod(theta.shape[:2]))
    count(counts, Paths, "_derivatives", "path_points", lambda _, x: math.prod(x.shape[:-1]))
    count(counts, PESScore, "evaluate", "score_points", lambda _, X: math.prod(X.shape[:-1]))
    count(
        counts, PESScore, "evaluate", "score_samples",
        lambda score, X: math.prod(X.shape[:-1]) * math.prod(score.weight.shape[:3]),
    )  # fmt: skip
    count(counts, ep, "_after", "sweeps", lambda before, *_: int(before.m.shape[0]))
    return counts


def prepare(setting: Setting, repeat: int) -> Callable[[], list[Any]]:
    """A batch of suggestions, to be measured."""
    import xstar
    from xstar.acquisition import PES
    from xstar.gp import SliceSampling
    from xstar.methods import ModelSettings

    X, values = speed.data(setting.n, setting.d, repeat)
    named = [{f"x{k}": float(value) for k, value in enumerate(x)} for x in X]
    trials = [xstar.Trial(k, x, "done", float(y)) for k, (x, y) in enumerate(zip(named, values, strict=True))]
    method = xstar.Method(
        balance=None,
        inference=SliceSampling(num_samples=setting.H),
        acquisition=PES(num_samples=setting.M),
        model=ModelSettings(max_data=NEVER_THIN) if setting.exact else ModelSettings(),
    )
    optimizer = xstar.Optimizer.from_trials(trials, [(0.0, 1.0)] * setting.d, "maximize", method, repeat)
    return lambda: optimizer.ask(setting.k)


def suggest_once(setting: Setting, repeat: int) -> Sample | str:
    """Suggest in this process, which is a fresh one; or say why a simpler method had to."""
    from xstar.entropy import conditioned

    speed.ours(*speed.data(**speed.WARM_UP), repeat)()
    watch = speed.watch_stages()
    watch.seconds["sites"] = 0.0
    watch.attach(conditioned, "expectation_propagation", "sites")
    counts = count_work()
    suggest = prepare(setting, repeat)
    speed._forget_peak()
    before, start = speed._resident_mb(), time.process_time()
    batch = suggest()
    cpu = time.process_time() - start
    more = speed._peak_mb() - before
    for trial in batch:
        if trial.diagnostics["fallback"] is not None:
            return f"suggested by {trial.diagnostics['method']}: {trial.diagnostics['fallback']}"
    return Sample(cpu, more, _stages(watch.seconds, cpu), counts)


def _stages(seconds: dict[str, float], cpu: float) -> dict[str, float]:
    """The stopwatch has EP with the conditioning around it, and the screening in the maximization."""
    whole = sum(seconds[stage] for stage in ("inference", "paths", "EP", "maximization"))
    parts = (
        seconds["inference"], seconds["paths"], seconds["EP"] - seconds["sites"], seconds["sites"],
        seconds["screening"], seconds["maximization"] - seconds["screening"], cpu - whole,
    )  # fmt: skip
    return dict(zip(STAGES, parts, strict=True))


def measure(setting: Setting, repeats: int, once_above: float) -> dict[str, Any]:
    """Medians over fresh processes."""
    samples: list[Sample] = []
    for repeat in range(repeats):
        with spawned(1) as pool:
            found = pool.submit(suggest_once, setting, repeat).result()
        if isinstance(found, str):
            return {**setting._asdict(), "failed": found}
        samples.append(found)
        if found.cpu_seconds > once_above:
            break
    return {
        **setting._asdict(),
        "cpu_seconds": statistics.median(sample.cpu_seconds for sample in samples),
        "more_mb": statistics.median(sample.more_mb for sample in samples),
        "stages": _medians([sample.stages for sample in samples]),
        "counts": _medians([sample.counts for sample in samples]),
        "runs": [sample.cpu_seconds for sample in samples],
    }


def _medians(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    return {key: statistics.median(row[key] for row in rows) for key in rows[0]}


# Formulas: docs/scale.md


def operations(row: dict[str, Any]) -> dict[str, float]:
    """Operations of each stage."""
    told, d, H, k = row["n"], row["d"], row["H"], row["k"]
    n = told if row["exact"] else min(told, THINNED)
    M = H * math.ceil(row["M"] / H)
    length, sites = 1 + 2 * d + d * (d - 1) // 2 + RIVALS, 1 + d + RIVALS
    kernel, factor = 2 * d + KERNEL, n**2 * (n + SMALL) / 3
    counts, sets = row["counts"], max(H, FEATURE_SETS)
    for_paths = PATH_CANDIDATES + n + BEST * (1 + SPRAY)
    for_scores = SCORE_CANDIDATES + told + CENTERS * (1 + SPRAY) + M
    sample = 2 * n * length + 2 * length * (length + sites) + JET * length
    few = H * math.ceil(SCREENED / H)
    return {
        "inference": counts["likelihoods"] * (factor + n**2 * kernel / 2)
        + counts["slopes"] * (3 * factor + n**2 * (kernel / 2 + d))
        + H * (factor + n**2 * kernel)
        + (0 if n == told else 3 * THINNED * told * d),
        "paths": k * for_paths * (sets * (FEATURES * (2 * d + COSINE) + n * kernel) + 2 * M * (FEATURES + n))
        + k * M * n * (2 * FEATURES + 2 * n)
        + counts["path_points"] * ((FEATURES + n) * (d * (d + 1) + 4 * d) + 2 * FEATURES * COSINE + n * KERNEL),
        "conditioning": k * M * (n * length * (JET + 2 * n + 2 * length) + 6 * length**3 + 4 * length**2 * sites),
        "EP": counts["sweeps"] * (4 / 3 * sites**3 + KERNEL * sites),
        "screening": k * for_scores * (H * (n**2 + n * kernel) + few * sample),
        "climbing": counts["score_points"] * H * (2 * n**2 + 2 * n * kernel) + 3 * counts["score_samples"] * sample,
    }


def predicted(row: dict[str, Any], base: dict[str, Any]) -> float:
    """Seconds: each stage's at the base, times the ratio of its operations; the rest for each point."""
    mine, its = operations(row), operations(base)
    seconds: dict[str, float] = base["stages"]
    return sum((seconds[stage] * mine[stage] / its[stage] for stage in mine), seconds["other"] * int(row["k"]))


def arrays_mb(row: dict[str, Any]) -> float:
    """The largest arrays that are there at once: of the likelihood, of the posterior, or of the conditioning."""
    d, H = int(row["d"]), int(row["H"])
    n = int(row["n"]) if row["exact"] else min(int(row["n"]), THINNED)
    M, length = H * math.ceil(int(row["M"]) / H), 1 + 2 * d + d * (d - 1) // 2 + RIVALS
    likelihood = n * n * (2 * d + 2.5)
    posterior = 4 * H * n * n
    conditioning = H * n * n + 4 * M * n * length + 8 * M * length * length
    return 8.0 * max(likelihood, posterior, conditioning) / (1 << 20)


def rates() -> dict[str, float]:
    """How many operations of a large matrix product take as long as others do: what the constants above stand for."""
    from scipy.linalg import lapack

    from xstar.gp import Matern52, SquaredExponential

    def seconds(work: Callable[[], Any]) -> float:
        times = []
        for _ in range(7):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        return min(times)

    rng = np.random.default_rng(0)
    square, row = rng.random((1000, 1000)), 5.0 * rng.random(1 << 15)
    single = row.astype(np.float32)
    one = seconds(lambda: square @ square) / 2e9
    found = {
        "product_gflops": 1e-9 / one,
        "squared exponential": seconds(lambda: SquaredExponential().profile(row, 0)) / row.size / one,
        "Matern-5/2": seconds(lambda: Matern52().profile(row, 0)) / row.size / one,
        "float32 cosine": seconds(lambda: np.cos(single)) / row.size / one,
    }
    for n in (100, 1000):
        matrix = np.asfortranarray(np.eye(n) + 0.5)
        found[f"factorization, n = {n}"] = seconds(lambda m=matrix: lapack.dpotrf(m)) / (n**3 / 3) / one  # type: ignore[misc]
    return found


# Printing


def rows_of(name: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of a series that were measured, in its order."""
    known = {Setting(*(row[key] for key in Setting._fields)): row for row in rows if "failed" not in row}
    return [known[setting] for setting in SERIES[name] if setting in known]


def curve(name: str, rows: Sequence[dict[str, Any]]) -> tuple[list[int], list[float], list[float]]:
    """What is varied; seconds measured and predicted, for each point of a batch."""
    base = next(row for row in rows if Setting(*(row[key] for key in Setting._fields)) == Setting())
    mine = rows_of(name, rows)
    sizes = [place(name, Setting(*(row[key] for key in Setting._fields))) for row in mine]
    return (
        sizes,
        [row["cpu_seconds"] / row["k"] for row in mine],
        [predicted(row, base) / row["k"] for row in mine],
    )


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of log y in log x between the last two points."""
    return math.log(y[-1] / y[-2]) / math.log(x[-1] / x[-2])


def reaching(x: Sequence[float], y: Sequence[float], level: float) -> tuple[float, str]:
    """Where y, as straight pieces in logarithms, reaches a level; and whether that was inter- or extrapolated."""
    u, v, w = np.log(x), np.log(y), math.log(level)
    above = np.flatnonzero(v >= w)
    j = min(max(int(above[0]), 1), len(x) - 1) if above.size else len(x) - 1
    found = math.exp(u[j - 1] + (w - v[j - 1]) * (u[j] - u[j - 1]) / (v[j] - v[j - 1]))
    return found, "interpolated" if x[0] <= found <= x[-1] else "EXTRAPOLATED"


def print_series(name: str, rows: Sequence[dict[str, Any]]) -> None:
    """The table of a series, and its slopes."""
    sizes, seconds, formula = curve(name, rows)
    print(f"\n{NAMES[name]}")
    print(f"{'':>6s}{'CPU s':>9s}{'formula':>9s}{'MB':>7s}  " + "".join(f"{stage:>13s}" for stage in STAGES))
    for size, mine, its, row in zip(sizes, seconds, formula, rows_of(name, rows), strict=True):
        stages = "".join(f"{row['stages'][stage] / row['k']:13.3f}" for stage in STAGES)
        print(f"{size:6d}{mine:9.3f}{its:9.3f}{row['more_mb']:7.0f}  {stages}")
    if len(sizes) > 1:
        print(
            f"slope from {sizes[-2]} to {sizes[-1]}: {slope(sizes, seconds):.2f} measured, "
            f"{slope(sizes, formula):.2f} by the formulas"
        )


def print_limits(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where exact models stop."""
    sizes, seconds, _ = curve("exact", rows)
    memory = [row["more_mb"] for row in rows_of("exact", rows)]
    limits = []
    for what, values, level in (("1 s", seconds, 1.0), ("10 s", seconds, 10.0), ("2 GB", memory, 2048.0)):
        found, how = reaching(sizes, values, level)
        limits.append({"limit": what, "n": found, "how": how})
        print(f"without thinning, {what} at n = {found:.0f} ({how}), d = 6")
    formula = ", ".join(
        f"n = {row['n']}: {row['more_mb']:.0f} MB, {arrays_mb(row):.0f}" for row in rows_of("exact", rows)
    )
    print(f"memory, measured and by the formula: {formula}")
    return limits


def draw(rows: Sequence[dict[str, Any]]) -> str:
    """Four pictures: n with and without thinning, its memory, d, and the others relative to the base."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10.5, 8.0))
    (by_n, by_memory), (by_d, by_rest) = axes
    for axis, names in ((by_n, ("n", "exact")), (by_d, ("d",)), (by_rest, ("M", "H", "k"))):
        for name, color in zip(names, ("tab:blue", "tab:red", "tab:green"), strict=False):
            sizes, seconds, formula = curve(name, rows)
            axis.plot(sizes, seconds, "o-", color=color, label=NAMES[name])
            axis.plot(sizes, formula, "--", color=color, alpha=0.6, label="by the formulas")
        axis.set(ylabel="CPU seconds of a suggestion")
    for name, color in (("n", "tab:blue"), ("exact", "tab:red")):
        mine = rows_of(name, rows)
        by_memory.plot(
            [row["n"] for row in mine], [row["more_mb"] for row in mine], "o-", color=color, label=NAMES[name]
        )
    mine = rows_of("exact", rows)
    sizes, formula = [row["n"] for row in mine], [arrays_mb(row) for row in mine]
    by_memory.plot(sizes, formula, "--", color="tab:red", alpha=0.6, label="largest arrays, by the formula")
    by_memory.axhline(2048.0, color="gray", linewidth=0.8)
    by_memory.annotate("2 GB", (10, 2048.0), textcoords="offset points", xytext=(0, -12), color="gray")
    by_memory.set(ylabel="MB on top of the process", xlabel="values n")
    for level in (1.0, 10.0):
        by_n.axhline(level, color="gray", linewidth=0.8)
        by_n.annotate(f"{level:.0f} s", (10, level), textcoords="offset points", xytext=(0, 3), color="gray")
    by_n.set(xlabel="values n", title="d = 6, M = 50, H = 10")
    by_memory.set(title="d = 6, M = 50, H = 10")
    by_d.set(xlabel="coordinates d", title="n = 100, M = 50, H = 10")
    by_rest.set(xlabel="M, H or k", title="n = 100, d = 6")
    for axis in axes.flat:
        axis.set(xscale="log", yscale="log")
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend(fontsize=8)
    for axis, ticks in ((by_d, (1, 2, 4, 6, 12, 20)), (by_rest, (1, 2, 5, 10, 20, 50, 100, 200))):
        axis.set_xticks(ticks, labels=[str(tick) for tick in ticks])
        axis.set_xticks([], minor=True)
    for axis in (by_d, by_rest):
        low, high = axis.get_ylim()
        levels = [level for level in (0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 20, 50) if low <= level <= high]
        axis.set_yticks(levels, labels=[str(level) for level in levels])
        axis.set_yticks([], minor=True)
    figure.tight_layout()
    path = RESULTS / "scale.png"
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return str(path.relative_to(RESULTS.parent.parent))


def _rates_alone() -> dict[str, float]:
    with spawned(1) as pool:
        return pool.submit(rates).result()


def measure_all(names: Sequence[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every setting once, the base first."""
    rows = {Setting(): measure(Setting(), options.repeats, options.once_above)}
    for name in names:
        for setting in SERIES[name]:
            if setting not in rows:
                rows[setting] = measure(setting, options.repeats, options.once_above)
            row = rows[setting]
            if "failed" in row:
                print(f"{name} = {place(name, setting)} failed: {row['failed']}", flush=True)
                break
            print(f"{name} = {place(name, setting)}: {row['cpu_seconds']:.2f} s", flush=True)
            if row["cpu_seconds"] > options.most_seconds:
                break
    return list(rows.values())


def main() -> None:
    """Print the tables, write the results, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most-seconds", type=float, default=60.0)
    parser.add_argument("--once-above", type=float, default=20.0)
    parser.add_argument("--only", nargs="+", choices=SERIES, default=list(SERIES), metavar="SERIES")
    parser.add_argument("--again", action="store_true", help="do not measure; print and draw the results file")
    options = parser.parse_args()
    rows = load("scale") if options.again else measure_all(options.only, options)
    names = [name for name in options.only if len(rows_of(name, rows)) > 1]
    for name in names:
        print_series(name, rows)
    limits = print_limits(rows) if "exact" in names else []
    if set(names) == set(SERIES):
        if not options.again:
            settings = {key: value for key, value in vars(options).items() if key != "again"}
            speeds = _rates_alone()
            print(
                "in operations of a matrix product: " + ", ".join(f"{key} {value:.1f}" for key, value in speeds.items())
            )
            print(f"wrote {save('scale', rows, **settings, limits=limits, rates=speeds)}")
        print(f"wrote {draw(rows)}")


if __name__ == "__main__":
    main()
