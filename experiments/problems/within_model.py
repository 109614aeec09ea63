"""Functions of the model itself [HHG14, figure 2]: 1024 values drawn from the GP prior, and the posterior mean of them.

The values lie on a grid of 32 x 32 points, edges included, with the study's noise of variance 1e-6: with L L' the
covariance of noisy values on the grid and z standard normal, the values are L z, and the posterior mean at x is
k(x, grid) a with a = (L L')^{-1} L z = L'^{-1} z. The kernel is a product over the two coordinates, so that a grid of
x costs two small matrix products.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from experiments.problems.base import Problem, Rows

LENGTHSCALE, NOISE = 0.1**0.5, 1e-3
"""l^2 = 0.1, unit amplitude, noise variance 1e-6."""
SIDE, FINE = 32, 257
CLIMBS = 8
"""How many of the highest local maxima of the fine grid are climbed."""
SEED = 0x2014


class PosteriorMean:
    """f(x) = sum_ij a_ij k(x_1, g_i) k(x_2, g_j)."""

    def __init__(self, weights: Rows) -> None:
        self.weights = weights

    def __call__(self, X: Rows) -> Rows:
        """Values (m,) at points (m, 2)."""
        left, right = (_bells(X[:, i]) for i in range(2))
        return np.asarray(np.einsum("mi,ij,mj->m", left, self.weights, right, optimize=True))

    def on_grid(self, axis: Rows) -> Rows:
        """Values (q, q) at all pairs of coordinates (q,)."""
        bells = _bells(axis)
        return np.asarray(bells @ self.weights @ bells.T)

    def slope(self, x: Rows) -> Rows:
        """The gradient (2,) at a point (2,)."""
        offsets = (x[:, None] - _axis()) / LENGTHSCALE**2
        left, right = _bells(x)
        return np.array([-(offsets[0] * left) @ self.weights @ right, -left @ self.weights @ (offsets[1] * right)])


def within_model_problem(repeat: int) -> Problem:
    """The function with a number, and its maximum."""
    z = np.random.default_rng([SEED, repeat]).standard_normal(SIDE**2)
    weights = solve_triangular(_factor(), z, lower=True, trans="T")
    function = PosteriorMean(np.asarray(weights).reshape(SIDE, SIDE))
    x = _maximizer(function)
    return Problem("within-model", function, x, float(function(x[None, :])[0]), NOISE, evaluations=50)


def _maximizer(function: PosteriorMean) -> Rows:
    """The best of several climbs, each from a local maximum of a fine grid."""
    axis = np.linspace(0.0, 1.0, FINE)
    heights = np.pad(function.on_grid(axis), 1, constant_values=-np.inf)
    middle = heights[1:-1, 1:-1]
    around = [
        heights[1 + i : FINE + 1 + i, 1 + j : FINE + 1 + j] for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
    ]
    peaks = np.argwhere(middle >= np.max(around, axis=0))
    peaks = peaks[np.argsort(-middle[tuple(peaks.T)])][:CLIMBS]
    climbs = [_climb(function, axis[peak]) for peak in peaks]
    return max(climbs, key=lambda x: float(function(x[None, :])[0]))


def _climb(function: PosteriorMean, start: Rows) -> Rows:
    def falls(x: Rows) -> tuple[float, Rows]:
        return -float(function(x[None, :])[0]), -function.slope(x)

    options: Any = {"ftol": 1e-16, "gtol": 1e-10}
    found = minimize(falls, start, jac=True, bounds=[(0.0, 1.0)] * 2, method="L-BFGS-B", options=options)
    return np.asarray(found.x)


def _axis() -> Rows:
    return np.linspace(0.0, 1.0, SIDE)


def _bells(x: Rows) -> Rows:
    """k(x, g) (m, 32) for coordinates x (m,)."""
    return np.asarray(np.exp(-0.5 * ((x[:, None] - _axis()) / LENGTHSCALE) ** 2))


@cache
def _factor() -> Rows:
    """The Cholesky factor of the noisy values' covariance."""
    line = _bells(_axis())
    return np.asarray(np.linalg.cholesky(np.kron(line, line) + NOISE**2 * np.eye(SIDE**2)), dtype=np.float64)
