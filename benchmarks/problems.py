"""The GPs that the benchmarks of the core work on, and the plain functions that their rivals are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xstar.gp import Hyperparameters, Kernel, Matern52, Paths, Posterior, SquaredExponential, draw_paths

KERNELS: dict[str, Kernel] = {"se": SquaredExponential(), "matern52": Matern52()}
PATH_NOISE = 1e-3


def observations(n: int, d: int, seed: int) -> tuple[Any, Any]:
    """A smooth function of d variables with a little noise, standardized."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(4.0 * X[:, 0]) + np.cos(3.0 * X[:, -1] * X[:, 0]) + X.sum(axis=1) / d + 0.1 * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


def hyper_samples(count: int, d: int, seed: int) -> Hyperparameters:
    """Hyperparameters as a sampler would return them."""
    rng = np.random.default_rng(seed)
    return Hyperparameters(
        0.3 + 0.7 * rng.random((count, d)), 0.8 + 0.4 * rng.random(count), 0.1 + 0.1 * rng.random(count)
    )


def path_posterior(kernel: str, d: int, lengthscale: float, n: int, seed: int) -> Posterior:
    """A posterior whose data are a draw from its own prior."""
    rng = np.random.default_rng(seed)
    hyper = Hyperparameters(np.full(d, lengthscale), 1.0, PATH_NOISE)
    prior = Posterior(KERNELS[kernel], hyper, np.zeros((0, d)), np.zeros(0))
    X = rng.random((n, d))
    return Posterior(KERNELS[kernel], hyper, X, draw_paths(prior, 1, rng)(X)[0])


def plain_path(paths: Paths, p: int) -> Callable[[Any], tuple[float, Any]]:
    """Minus one path and its gradient as a plain NumPy function, without any of our layers: what SciPy is given."""
    own = paths.take(np.array([p]))
    w, b = own.features.frequencies[0], own.features.phases[0]
    theta = own.features.scale[0] * own.weights[0, 0]
    lengthscales = own.hyper.lengthscales[0]
    v = own.hyper.variance[0] * own.correction[0, 0]
    X, kernel = paths.anchors, paths.kernel

    def negative(x: Any) -> tuple[float, Any]:
        angle = w @ x + b
        u = (x - X) / lengthscales
        rho, rho_1 = kernel.profile(np.sum(u * u, axis=1), 1)
        value = theta @ np.cos(angle) + v @ rho
        gradient = -(theta * np.sin(angle)) @ w + 2.0 * ((v * rho_1) @ u) / lengthscales
        return -float(value), -gradient

    return negative
