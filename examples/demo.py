"""What `make demo` runs: 25 noisy evaluations of a function of two variables, a summary in words, and a picture.

python -m examples.demo [picture.png]
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import xstar
from xstar.plots import draw

NOISE = 0.1
TRUE_MAXIMUM = -10.0 / (8.0 * math.pi)
rng = np.random.default_rng(7)


def branin(x: Any) -> float:
    """Minus Branin's function: three equally high maxima in a landscape that falls to -300."""
    a, b = x
    bend = b - 5.1 / (4.0 * math.pi**2) * a * a + 5.0 / math.pi * a - 6.0
    return float(-(bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(a) + 10.0))


def measure(x: Any) -> float:
    """The function as it is seen: with noise."""
    return branin(x) + NOISE * float(rng.standard_normal())


def main(path: Path) -> None:
    """Optimize, say what was found, draw it."""
    began = time.perf_counter()
    print("Looking for the maximum of a noisy function of two variables, 25 evaluations ...")
    result = xstar.maximize(measure, [(-5.0, 10.0), (0.0, 15.0)], budget=25, seed=0)
    assert result.x is not None, "25 evaluations, none of which failed"
    assert result.recommendation is not None, "as above"
    x = ", ".join(f"{value:.2f}" for value in result.x)
    print(f"\nRecommended: x = ({x}), where the model expects {result.recommendation.value_in_words}.")
    print(f"The true value there is {branin(result.x):.2f}; the true maximum is {TRUE_MAXIMUM:.2f}, in three places.")
    print("\nWhat the model knows of them, by the values alone:")
    print(result.where)
    print("\nWhat it would evaluate next, and why:")
    trial = result.optimizer.ask()
    print(f"x = ({', '.join(f'{value:.2f}' for value in trial.x)})")
    print(result.optimizer.explain(trial))
    result.optimizer.withdraw(trial)
    print(f"\nIt took {time.perf_counter() - began:.0f} seconds.")
    print(f"Picture: {draw(result.optimizer, path)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("output") / "demo.png")
