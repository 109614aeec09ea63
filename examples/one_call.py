"""The maximum of a noisy function of two variables, in one call.

python -m examples.one_call
"""

from __future__ import annotations

from typing import Any

import numpy as np

import xstar

rng = np.random.default_rng(0)


def yield_of_a_reactor(x: Any) -> float:
    """A smooth hill near (0.3, -2) with a lower one beside it, measured with noise."""
    temperature, acidity = x
    hill = np.exp(-20.0 * (temperature - 0.3) ** 2 - 0.1 * (acidity + 2.0) ** 2)
    other = 0.7 * np.exp(-20.0 * (temperature - 0.8) ** 2 - 0.1 * (acidity - 3.0) ** 2)
    return float(hill + other + 0.05 * rng.standard_normal())


if __name__ == "__main__":
    result = xstar.maximize(yield_of_a_reactor, [(0.0, 1.0), (-5.0, 5.0)], budget=20, seed=1)
    print(result)
