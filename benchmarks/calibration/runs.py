"""Runs in lockstep, and what their models said on the way."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration.problems import NOISES, SETS, Known
from benchmarks.calibration.variants import VARIANTS
from benchmarks.measure import machine
from experiments.course import START, noise_of, start_of
from experiments.problems.within_model import LENGTHSCALE
from experiments.problems.within_model import NOISE as LEAST_NOISE
from xstar import Method, lockstep
from xstar.gp import Fixed, Hyperparameters, SquaredExponential

FOLDER = Path("output/calibration")
ASKED = (3, 5, 7, 10, 14, 20)
"""After how many evaluations for each coordinate."""
PROBABILITY, CENTRAL = 0.95, 0.9
"""Of the bound on what is left to gain, and of the intervals of the optimum."""


def run(name: str, variant: str, instances: tuple[int, ...], compute: str) -> Path:
    """Run a set of functions and keep what was said; returns the file."""
    own, method = SETS[name], VARIANTS[variant]()
    functions = own.make(instances)
    began = time.perf_counter()
    if own.known_hyperparameters:
        rows = [row for noise in NOISES for row in _run(functions, (noise,), _knowing(method, noise), compute)]
    else:
        rows = _run(functions, NOISES, method, compute)
    path = FOLDER / f"{name}__{variant}__{'-'.join(map(str, instances))}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    made_with = json.dumps({**machine(), "compute": compute})
    np.savez_compressed(path, seconds=time.perf_counter() - began, made_with=made_with, **columns)  # type: ignore[arg-type]
    return path


def _knowing(method: Method, noise: float) -> Method:
    """The same method with the hyperparameters that the functions were drawn with."""
    hyper = Hyperparameters(np.full(2, LENGTHSCALE), 1.0, max(noise, LEAST_NOISE))
    return Method(SquaredExponential(), Fixed(hyper), method.acquisition, method.model, method.balance)


def _run(functions: list[Known], noises: tuple[float, ...], method: Method, compute: str) -> list[dict[str, Any]]:
    """A row for each function, each noise, and each time that the models were asked."""
    all_of_them = [(noise, f) for noise in noises for f in functions]
    d = functions[0].problem.dimension
    asked = tuple(k * d for k in ASKED)
    numbers = [f.number for _, f in all_of_them]
    draws = np.stack([noise * noise_of(asked[-1], f.number) for noise, f in all_of_them])
    problems = lockstep.Problems(
        lambda X: np.stack([f.values(x) for (_, f), x in zip(all_of_them, X, strict=True)]), 1.0, method
    )
    start = np.stack([start_of(d, number) for number in numbers])
    record = lockstep.run(
        problems, start, asked[-1] - START, numbers, compute=compute, draws=draws, ask_after=asked, threads=4
    )
    rows = []
    for r, (noise, f) in enumerate(all_of_them):
        for belief in record.beliefs:
            n = belief.evaluations
            rows.append({
                "function": f.name, "number": f.number, "noise": noise, "n": n, "share": n // d,
                **_claims(f, belief, r, float(record.value[r, n - START])),
                "X": np.pad(record.X[r, :n], ((0, asked[-1] - n), (0, 0))),
                "y": np.pad(record.y[r, :n], (0, asked[-1] - n)),
            })  # fmt: skip
    return rows


def _claims(f: Known, belief: lockstep.Belief, r: int, value: float) -> dict[str, Any]:
    """What was said of a function, and what is true."""
    tail = (1.0 - CENTRAL) / 2.0
    low, high = np.quantile(belief.x_star[r], [tail, 1.0 - tail], axis=0)
    # Rounding of sampled maxima at the faces of the cube is not a matter of calibration.
    inside = (f.maximizers >= low - 1e-6) & (f.maximizers <= high + 1e-6)
    nearest = int(np.argmax(inside.sum(axis=1)))
    return {
        "bound": float(np.quantile(belief.left[r], PROBABILITY, method="higher")),
        "median": float(np.quantile(belief.left[r], 0.5)),
        "regret": f.maximum - value,
        "z": (value - belief.mean[r]) / max(float(belief.sd[r]), 1e-12),
        "inside": int(inside[nearest].sum()), "coordinates": len(low),
    }  # fmt: skip
