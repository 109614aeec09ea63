"""The analytic functions of [HHG14, figure 3] on the unit cube, each to be maximized, with noise of variance 1e-3.

[HHG14] has the mixture of cosines from Anderson, Moore & Cohn (2000) and Hartmann-6 from Lizotte (2008); Branin-Hoo
is the usual function with its sign turned. None is rescaled: the noise is small beside Branin's range of 308, and large
beside the 0.2 between the two highest maxima of the cosines and of Hartmann-6.
"""

from __future__ import annotations

import math

import numpy as np

from experiments.problems.base import Problem, Rows

NOISE = 1e-3**0.5


def branin(X: Rows) -> Rows:
    """Minus Branin-Hoo, [0, 1]^2 standing for [-5, 10] x [0, 15]; three equal maxima."""
    a, b = 15.0 * X[:, 0] - 5.0, 15.0 * X[:, 1]
    bend = b - 5.1 / (4.0 * math.pi**2) * a**2 + 5.0 / math.pi * a - 6.0
    return np.asarray(-(bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * np.cos(a) + 10.0))


def cosines(X: Rows) -> Rows:
    """1 - sum_i (u_i^2 - 0.3 cos(3 pi u_i)) with u = 1.6 x - 0.5, on [0, 1]^2."""
    u = 1.6 * X - 0.5
    return np.asarray(1.0 - np.sum(u**2 - 0.3 * np.cos(3.0 * math.pi * u), axis=1))


HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
STEEPNESS = np.array([
    [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
    [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
    [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
    [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
])  # fmt: skip
CENTERS = np.array([
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
])  # fmt: skip


def hartmann(X: Rows) -> Rows:
    """Hartmann-6: four bells of different widths."""
    squares = np.sum(STEEPNESS * (X[:, None, :] - CENTERS) ** 2, axis=-1)
    return np.asarray(np.exp(-squares) @ HEIGHTS)


def branin_problem() -> Problem:
    """At (pi, 2.275) the parabola vanishes and the cosine is -1; the value there is -10 / (8 pi)."""
    return Problem(
        "branin",
        branin,
        np.array([(math.pi + 5.0) / 15.0, 2.275 / 15.0]),
        -10.0 / (8.0 * math.pi),
        NOISE,
        evaluations=50,
    )


def cosines_problem() -> Problem:
    """The square and the cosine are both best at u = 0."""
    return Problem("cosines", cosines, np.full(2, 0.5 / 1.6), 1.6, NOISE, evaluations=50)


def hartmann_problem() -> Problem:
    """The maximizer to rounding, by Newton's method from the published one."""
    x = np.array(HARTMANN_MAXIMIZER)
    return Problem("hartmann", hartmann, x, float(hartmann(x[None, :])[0]), NOISE, evaluations=60)


HARTMANN_MAXIMIZER = (0.20168952, 0.15001069, 0.47687398, 0.27533243, 0.31165162, 0.65730053)
