"""Random cosine features: finite sums that behave like a stationary kernel's GP prior.

    phi(x) = c cos(w x + b),    c = gamma sqrt(2 / m),    E phi(x).phi(z) = k(x, z)

with frequencies w from the kernel's spectral density and phases b uniform [HHG14, eq. 5].

Notation
    P        feature sets, one per sample path
    m        features of one set
    w, b     frequencies (lengthscales divided out) and phases    (P, m, d), (P, m)
    theta    weights of the features in a path                    (P, m)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel
from xstar.numerics.arrays import Array, HostArray, move, namespace, take_rows


@dataclass(frozen=True)
class Features:
    """P independent feature sets."""

    frequencies: Array
    phases: Array
    scale: Array
    """c, shape (P,)."""

    def __call__(self, x: Array) -> Array:
        """phi at points (n, d), the same for all sets, or (P, n, d); shape (P, n, m)."""
        return self.scale[:, None, None] * namespace(x).cos(self._angles(x))

    def derivatives(self, x: Array, theta: Array, i: Array, j: Array) -> tuple[Array, Array, Array]:
        """theta.phi at points (P, q, d), its gradient, and its second derivatives d_ij for the pairs (i, j)."""
        xp = namespace(x)
        angles = self._angles(x)
        weights = (self.scale[:, None] * theta)[:, None, :]
        cosines, sines = weights * xp.cos(angles), weights * xp.sin(angles)
        w = self.frequencies
        second = -xp.matmul(cosines, xp.take(w, i, axis=-1) * xp.take(w, j, axis=-1))
        return xp.sum(cosines, axis=-1), -xp.matmul(sines, w), second

    def take(self, rows: HostArray) -> Features:
        """Some of the sets."""
        return Features(*(take_rows(part, rows) for part in (self.frequencies, self.phases, self.scale)))

    def part(self, rows: slice) -> Features:
        """A range of the sets, without a copy."""
        return Features(self.frequencies[rows, ...], self.phases[rows, ...], self.scale[rows])

    def single(self) -> Features:
        """The same in float32, for screening."""
        xp = namespace(self.frequencies)
        return Features(*(xp.astype(part, xp.float32) for part in (self.frequencies, self.phases, self.scale)))

    def _angles(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.matmul(x, xp.linalg.matrix_transpose(self.frequencies)) + self.phases[:, None, :]


def draw_features(kernel: Kernel, hyper: Hyperparameters, num_features: int, rng: np.random.Generator) -> Features:
    """A fresh set for each of P hyperparameter vectors (their leading axes are (P,))."""
    (P,) = hyper.batch_shape
    frequencies = move(kernel.frequencies((P, num_features, hyper.dimension), rng), hyper.lengthscales)
    phases = move(rng.uniform(0.0, 2.0 * math.pi, size=(P, num_features)), hyper.lengthscales)
    scale = math.sqrt(2.0 / num_features) * hyper.amplitude
    return Features(frequencies / hyper.lengthscales[:, None, :], phases, scale)
