"""The paper's within-model study on a GPU: many functions in lockstep, with the time of each stage beside its floor.

    python -m benchmarks.gpu [--device cuda] [--functions 1000] [--evaluations 50] [--samples 64] [--processes 1 8]

Functions on [0, 1]^2 drawn from a GP (squared exponential, l^2 = 0.1, unit amplitude), noise 1e-3, three points to
start with; PES with known hyperparameters advances all of them together (`xstar.lockstep`). Printed:

1. seconds of the whole study and of each stage (the mean over processes), and the median immediate regret;
2. for one step, each stage's time beside its floor: the operations and bytes of the array operations it consists of,
   over the rates of a matrix product and of a copy, both measured in the same run;
3. the same study for a few functions on the CPU with NumPy: by how much suggestions differ, and the regrets;
4. a smaller study in which hyperparameters are slice-sampled anew at every step.

It needs torch, NumPy, SciPy and this project's source; nothing has to be installed. Results go to
benchmarks/results/gpu.json, or to the folder that --folder names.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
if importlib.util.find_spec("array_api_compat") is None:
    # SciPy has a copy of its own, in one place or another.
    places = ("scipy._lib.array_api_compat", "scipy._external.array_api_compat")
    found = next(place for place in places if importlib.util.find_spec(place) is not None)
    sys.modules["array_api_compat"] = importlib.import_module(found)

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.flop_counter import flop_registry  # noqa: E402

from benchmarks.measure import RESULTS, machine  # noqa: E402
from xstar import Method, lockstep  # noqa: E402
from xstar.acquisition import PES, Prepared, pes  # noqa: E402
from xstar.acquisition.mean import MeanScore  # noqa: E402
from xstar.gp import Fixed, Hyperparameters, Paths, Posterior, SliceSampling, SquaredExponential, draw_paths  # noqa: E402
from xstar.lockstep import Streams, steps  # noqa: E402
from xstar.numerics.arrays import move, to_numpy  # noqa: E402
from xstar.search import BoxSearch, draw_candidates  # noqa: E402

D, NOISE, START = 2, 1e-3, 3
HYPER = Hyperparameters(np.full(D, 0.1**0.5), 1.0, NOISE)
SHOWN = (0, 5, 10, 15, 20, 25, 30, 40, 50)
COUNTED_STEP = 25


class Stages:
    """Seconds of each stage; the innermost one counts. A GPU is waited for at every border."""

    def __init__(self, device: str) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._wait = torch.cuda.synchronize if device.startswith("cuda") else (lambda: None)
        self._open: list[str] = ["other"]
        self._since = time.perf_counter()

    @property
    def current(self) -> str:
        """The stage that is under way."""
        return self._open[-1]

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time in the block as that of a stage."""
        self._mark()
        self._open.append(name)
        try:
            yield
        finally:
            self._mark()
            self._open.pop()

    def _mark(self) -> None:
        self._wait()
        now = time.perf_counter()
        self.seconds[self.current] += now - self._since
        self._since = now

    def wrap(self, name: str | Callable[..., str], function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, counted as a stage."""

        def wrapped(*args: Any, **settings: Any) -> Any:
            with self.stage(name if isinstance(name, str) else name(*args)):
                return function(*args, **settings)

        return wrapped


def _search_stage(_: lockstep.LockstepSettings, score: Prepared, *__: Any) -> str:
    return "recommendation" if isinstance(score.score, MeanScore) else "maximization"


@contextmanager
def watched(stages: Stages) -> Iterator[None]:
    """Count the parts of a lockstep study."""
    watch: list[tuple[Any, str, str | Callable[..., str]]] = [
        (pes, "draw_maximizers", "paths"),
        (pes, "condition", "EP"),
        (Streams, "_fill", "random numbers"),
        (steps, "_fit", "posterior"),
        (steps, "_learn", "posterior"),
        (steps, "_maximize", _search_stage),
    ]
    before = [getattr(owner, name) for owner, name, _ in watch]
    for owner, name, stage in watch:
        setattr(owner, name, stages.wrap(stage, getattr(owner, name)))
    try:
        yield
    finally:
        for (owner, name, _), function in zip(watch, before, strict=True):
            setattr(owner, name, function)


class Work(TorchDispatchMode):  # type: ignore[misc]
    """Operations and bytes of every array operation, by stage. Views cost nothing."""

    def __init__(self, stages: Stages) -> None:
        super().__init__()
        self.stages = stages
        self.operations: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.bytes: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        given, made = _tensors(args), _tensors((out,))
        stage = self.stages.current
        if not made or (func.is_view and not func._schema.is_mutable):
            return out
        self.calls[stage] += 1
        self.bytes[stage] += sum(x.numel() * x.element_size() for x in given + made)
        kind = str(made[0].dtype).removeprefix("torch.")
        self.operations[stage][kind] += _operations(func, args, kwargs or {}, out, given, made)
        return out


def _operations(func: Any, args: Any, kwargs: Any, out: Any, given: list[Any], made: list[Any]) -> float:
    """Multiplications and additions of products and factorizations; one for each element of anything else."""
    packet = func._overloadpacket
    if packet in flop_registry:
        return float(flop_registry[packet](*args, **kwargs, out_val=out))
    name = packet.__name__
    if "cholesky" in name and given:
        return float(given[0].numel() * given[0].shape[-1]) / 3.0
    if "solve_triangular" in name:
        return float(made[0].numel() * given[0].shape[-1])
    return float(sum(x.numel() for x in made))


def _tensors(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found


def rates(device: str) -> dict[str, float]:
    """Floating-point operations of products, and bytes of a copy, each per second."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else (lambda: None)
    size = 8192 if device.startswith("cuda") else 1024

    def best(work: Callable[[], Any], repeats: int = 5) -> float:
        times = []
        for _ in range(repeats + 1):
            wait()
            began = time.perf_counter()
            work()
            wait()
            times.append(time.perf_counter() - began)
        return float(min(times[1:]))

    found = {}
    for dtype in (torch.float64, torch.float32):
        a = torch.rand((size, size), dtype=dtype, device=device)
        found[str(dtype).removeprefix("torch.")] = 2.0 * size**3 / best(partial(torch.matmul, a, a))
    x = torch.rand(size * size * 4, dtype=torch.float64, device=device)
    found["copy"] = 2.0 * x.numel() * 8 / best(x.clone)
    return found


def functions(numbers: range, like: Any) -> tuple[Paths, np.ndarray]:
    """The paths of the prior with these numbers, beside `like`, and their maxima."""
    count = len(numbers)
    prior = Posterior(
        SquaredExponential(), HYPER, move(np.zeros((count, 0, D)), like), move(np.zeros((count, 0)), like)
    )
    draws = Streams([np.random.default_rng([r, 8]) for r in numbers], np.random.default_rng(0))
    paths = draw_paths(prior, 1, draws, num_features=2000)
    candidates = draw_candidates(4096, np.zeros((0, D)), np.random.default_rng(1))
    return paths, to_numpy(BoxSearch(num_starts=24).maximize(paths, candidates).value)


def study(
    numbers: range, evaluations: int, samples: int, like: Any, threads: int, inference: Any, stages: Stages,
    after: Callable[[int], None] | None = None,
) -> tuple[lockstep.Record, np.ndarray]:  # fmt: skip
    """Optimize the functions with these numbers; the record, and the regrets (functions, evaluations + 1)."""
    paths, best = functions(numbers, like)
    count = len(numbers)
    compute = "numpy" if isinstance(like, np.ndarray) else f"torch:{like.device}"
    task = lockstep.Problems(
        stages.wrap("function", lambda x: to_numpy(paths.value(move(x, like), np.arange(count)))),
        NOISE,
        Method(SquaredExponential(), inference, PES(samples), balance=None),
    )
    start = np.stack([np.random.default_rng([r, 9]).random((START, D)) for r in numbers])
    stages._mark()
    stages.seconds.clear()
    with watched(stages):
        record = lockstep.run(task, start, evaluations, numbers, compute=compute, threads=threads, after=after)
    stages._mark()
    return record, best[:, None] - record.value


class Done(NamedTuple):
    """What one process has done."""

    record: lockstep.Record
    regrets: np.ndarray
    stages: dict[str, float]
    began: float
    ended: float


def share(
    numbers: range, evaluations: int, samples: int, device: str, threads: int, ready: Callable[[], object]
) -> Done:
    """One process's functions. It says when it is ready: libraries load and choose on first use."""
    like = torch.empty(0, dtype=torch.float64, device=device)
    stages = Stages(device)
    study(range(8), 2, samples, like, 1, Fixed(HYPER), stages)
    ready()
    began = time.time()
    record, regrets = study(numbers, evaluations, samples, like, threads, Fixed(HYPER), stages)
    return Done(record, regrets, dict(stages.seconds), began, time.time())


_barrier: Any = None


def _meet(barrier: Any) -> None:
    global _barrier  # noqa: PLW0603
    _barrier = barrier


def _share(numbers: range, options: dict[str, Any]) -> Done:
    return share(numbers, **options, ready=_barrier.wait)


def in_processes(options: argparse.Namespace, processes: int) -> Done:
    """The whole study, its functions divided among processes that share the device.

    Each process launches its own kernels: with small ones, that is what costs.
    """
    settings = {
        "evaluations": options.evaluations, "samples": options.samples, "device": options.device,
        "threads": max(1, options.threads // processes),
    }  # fmt: skip
    if processes == 1:
        return share(range(options.functions), **settings, ready=lambda: None)
    ends = np.linspace(0, options.functions, processes + 1).astype(int).tolist()
    shares = [range(first, last) for first, last in pairwise(ends)]
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, context, _meet, (context.Barrier(processes),)) as pool:
        parts = list(pool.map(_share, shares, [settings] * processes))
    X, y, recommended, value, tested = (
        np.concatenate([getattr(part.record, key) for part in parts])
        for key in ("X", "y", "recommended", "value", "tested")
    )
    record = lockstep.Record(X, y, recommended, value, tested)
    stages = {name: float(np.mean([p.stages.get(name, 0.0) for p in parts])) for name in parts[0].stages}
    return Done(
        record, np.concatenate([p.regrets for p in parts]), stages,
        min(p.began for p in parts), max(p.ended for p in parts),
    )  # fmt: skip


def table(title: str, regrets: np.ndarray) -> dict[str, float]:
    """Print and return the median regret at some steps."""
    median = np.median(regrets, axis=0)
    shown = {str(step): float(median[step]) for step in SHOWN if step < len(median)}
    print(f"{title}: " + "  ".join(f"{step}: {value:.1e}" for step, value in shown.items()), flush=True)
    return shown


def floors(work: Work, seconds: dict[str, float], measured: dict[str, float]) -> list[dict[str, Any]]:
    """Each stage's seconds beside what its operations and its bytes would take at the measured rates."""
    rows = []
    for stage in sorted(seconds, key=lambda name: -seconds[name]):
        operations = work.operations[stage]
        arithmetic = sum(operations[kind] / measured[kind] for kind in ("float64", "float32") if kind in operations)
        traffic = work.bytes[stage] / measured["copy"]
        floor = max(arithmetic, traffic)
        rows.append(
            {"stage": stage, "seconds": seconds[stage], "arithmetic": arithmetic, "traffic": traffic, "floor": floor,
             "operations": dict(operations), "bytes": work.bytes[stage], "calls": work.calls[stage]}
        )  # fmt: skip
        print(
            f"  {stage:16s} {1e3 * seconds[stage]:9.1f} ms   floor {1e3 * floor:8.2f} ms (arithmetic "
            f"{1e3 * arithmetic:.2f}, bytes {1e3 * traffic:.2f}), {work.calls[stage]} array operations",
            flush=True,
        )
    return rows


def one_step(options: argparse.Namespace, like: Any, measured: dict[str, float]) -> list[dict[str, Any]]:
    """The stages of one step in the middle of the study, timed and then counted."""
    marks: dict[int, dict[str, float]] = {}
    stages = Stages(options.device)
    timed = min(COUNTED_STEP, options.evaluations - 1)
    counting: list[Work] = []

    def after(step: int) -> None:
        stages._mark()
        marks[step] = dict(stages.seconds)
        if step == timed + 1:
            counting.append(Work(stages))
            counting[0].__enter__()
        elif step == timed + 2:
            counting[0].__exit__(None, None, None)

    study(range(options.functions), timed + 2, options.samples, like, options.threads, Fixed(HYPER), stages, after)
    step = {name: marks[timed + 1][name] - marks[timed].get(name, 0.0) for name in marks[timed + 1]}
    print(f"\none step, the {timed + 1}th, with {START + timed} evaluations made:")
    return floors(counting[0], step, measured)


def against_numpy(options: argparse.Namespace, record: lockstep.Record, regrets: np.ndarray) -> dict[str, Any]:
    """The first functions again with NumPy: how much suggestions differ, and the regrets."""
    count = min(options.check, options.functions)
    began = time.perf_counter()
    steps = min(options.check_evaluations, options.evaluations)
    other, own = study(range(count), steps, options.samples, np.empty(0), 1, Fixed(HYPER), Stages("cpu"))
    seconds = time.perf_counter() - began
    apart = np.abs(other.X - record.X[:count, : other.X.shape[1]]).max(axis=-1)[:, START:]
    print(f"\n{count} functions, {steps} evaluations, with NumPy: {seconds:.1f} s")
    close = apart <= 1e-6
    # A suggestion is compared where those before it were the same: the data are then the same.
    comparable = np.concatenate([np.ones((count, 1), dtype=bool), np.cumprod(close[:, :-1], axis=1) > 0], axis=1)
    agreeing = float(np.sum(close & comparable) / np.sum(comparable))
    print(f"  suggestions from the same data that are within 1e-6: {agreeing:.1%} of {np.sum(comparable)}")
    for step in range(0, steps, max(1, steps // 8)):
        print(f"  suggestion {step + 1:2d}: median difference {np.median(apart[:, step]):.1e}")
    return {
        "functions": count, "evaluations": steps, "seconds": seconds,
        "median_difference": np.median(apart, axis=0).tolist(),
        "comparable": int(np.sum(comparable)), "within_1e-6": agreeing,
        "regret": table("  regret with NumPy", own),
        "regret_of_the_same_on_the_device": table("  regret on the device", regrets[:count, : steps + 1]),
    }  # fmt: skip


def sliced(options: argparse.Namespace, like: Any) -> dict[str, Any]:
    """A study with hyperparameters sampled anew at every step."""
    stages = Stages(options.device)
    began = time.perf_counter()
    _, regrets = study(
        range(options.sliced),
        options.sliced_evaluations,
        50,
        like,
        options.threads,
        SliceSampling(num_samples=10),
        stages,
    )
    seconds = time.perf_counter() - began
    print(f"\nhyperparameters slice-sampled: {options.sliced} functions, {seconds:.1f} s")
    for name, spent in sorted(stages.seconds.items(), key=lambda item: -item[1]):
        print(f"  {name:16s} {spent:7.2f} s")
    return {
        "functions": options.sliced, "evaluations": options.sliced_evaluations, "seconds": seconds,
        "stages": dict(stages.seconds), "regret": table("  regret", regrets),
    }  # fmt: skip


def main() -> None:
    """Run the studies and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--functions", type=int, default=1000)
    parser.add_argument("--evaluations", type=int, default=50)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--processes", type=int, nargs="+", default=[1], help="among which functions are divided")
    parser.add_argument("--threads", type=int, default=min(16, os.cpu_count() or 1), help="that draw random numbers")
    parser.add_argument("--check", type=int, default=32, help="functions that NumPy runs, too; 0 for none")
    parser.add_argument("--check-evaluations", type=int, default=30)
    parser.add_argument("--sliced", type=int, default=100, help="functions with sampled hyperparameters; 0 for none")
    parser.add_argument("--sliced-evaluations", type=int, default=30)
    parser.add_argument("--no-floor", action="store_true", help="do not count operations and bytes")
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    like = torch.empty(0, dtype=torch.float64, device=options.device)
    name = torch.cuda.get_device_name() if options.device.startswith("cuda") else "CPU"
    measured = rates(options.device)
    print(f"{name}: " + ", ".join(f"{kind} {rate / 1e12:.2f} T/s" for kind, rate in measured.items()), flush=True)
    runs = []
    for processes in options.processes:
        done = in_processes(options, processes)
        seconds = done.ended - done.began
        print(
            f"\n{options.functions} functions, {options.evaluations} evaluations, PES({options.samples}), "
            f"{processes} process(es): {seconds:.1f} s"
        )
        for stage, spent in sorted(done.stages.items(), key=lambda item: -item[1]):
            print(f"  {stage:16s} {spent:7.2f} s")
        regret = table("regret", done.regrets)
        runs.append({"processes": processes, "seconds": seconds, "stages": done.stages, "regret": regret})
    record, regrets = done.record, done.regrets
    found: dict[str, Any] = {
        "device": name,
        "rates": measured,
        "runs": runs,
        "settings": {key: value for key, value in vars(options).items() if key != "folder"},
        "machine": {**machine(), "torch": torch.__version__, "numpy": np.__version__},
    }  # fmt: skip
    parts: dict[str, tuple[bool, Callable[[], Any]]] = {
        "one_step": (not options.no_floor, lambda: one_step(options, like, measured)),
        "numpy": (options.check > 0, lambda: against_numpy(options, record, regrets)),
        "sliced": (options.sliced > 0, lambda: sliced(options, like)),
    }
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / "gpu.json"
    for part, (wanted, work) in parts.items():
        path.write_text(json.dumps(found, indent=1) + "\n")
        if wanted:
            found[part] = work()
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"\nwritten: {path.name}")


if __name__ == "__main__":
    main()
