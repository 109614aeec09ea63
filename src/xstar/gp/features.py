"""Random cosine features: finite sums that behave like a stationary kernel's GP prior.

    phi(x) = c cos(w x + b),    c = gamma sqrt(2 / m),    E phi(x).phi(z) = k(x, z)

with frequencies w from the kernel's spectral density and phases b uniform [HHG14, eq. 5].

Notation
    F        feature sets                     S    paths of each
    m        features of one set
    w, b     frequencies (lengthscales divided out) and phases    (F, m, d), (F, m)
    theta    weights of the features in a path                    (F, S, m)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel
from xstar.numerics.arrays import Array, HostArray, move, namespace, take_rows
from xstar.numerics.random import Random


@dataclass(frozen=True)
class Features:
    """F independent feature sets."""

    frequencies: Array
    phases: Array
    scale: Array
    """c, shape (F,)."""

    def __call__(self, x: Array) -> Array:
        """phi at points (n, d), the same for all sets, or (F, n, d); shape (F, n, m)."""
        return self.scale[:, None, None] * self.cosines(x)

    def cosines(self, x: Array) -> Array:
        """Return phi without its scale."""
        return namespace(x).cos(self._angles(x))

    def derivatives(self, x: Array, theta: Array, products: Array) -> tuple[Array, Array, Array]:
        """Return theta.phi of every path at its own points (F, S, q, d), its gradient, and some second derivatives.

        `products` (F, m, pairs) are those of the frequencies in the two coordinates of each second derivative.
        """
        xp = namespace(x)
        F, S, q, d = x.shape
        m = self.phases.shape[-1]
        angles = xp.reshape(self._angles(xp.reshape(x, (F, S * q, d))), (F, S, q, m))
        weights = (self.scale[:, None, None] * theta)[..., None, :]
        cosines = xp.cos(angles)
        cosines *= weights
        sines = xp.sin(angles)
        sines *= weights
        gradient = xp.matmul(xp.reshape(sines, (F, S * q, m)), self.frequencies)
        second = xp.matmul(xp.reshape(cosines, (F, S * q, m)), products)
        return (
            xp.sum(cosines, axis=-1),
            -xp.reshape(gradient, (F, S, q, d)),
            -xp.reshape(second, (F, S, q, products.shape[-1])),
        )

    def take(self, rows: HostArray) -> Features:
        """Return some of the sets."""
        return Features(*(take_rows(part, rows) for part in (self.frequencies, self.phases, self.scale)))

    def part(self, rows: slice) -> Features:
        """Return a range of the sets, without a copy."""
        return Features(self.frequencies[rows, ...], self.phases[rows, ...], self.scale[rows])

    def single(self) -> Features:
        """Return the same in float32, for screening."""
        xp = namespace(self.frequencies)
        return Features(*(xp.astype(part, xp.float32) for part in (self.frequencies, self.phases, self.scale)))

    def _angles(self, x: Array) -> Array:
        xp = namespace(x)
        angles = xp.matmul(x, xp.linalg.matrix_transpose(self.frequencies))
        angles += self.phases[:, None, :]
        return angles


def draw_features(kernel: Kernel, hyper: Hyperparameters, num_features: int, rng: Random) -> Features:
    """Draw a fresh set for each of F hyperparameter vectors (their leading axes are (F,))."""
    (F,) = hyper.batch_shape
    frequencies = move(kernel.frequencies((F, num_features, hyper.dimension), rng), hyper.lengthscales)
    phases = move(rng.uniform(0.0, 2.0 * math.pi, size=(F, num_features)), hyper.lengthscales)
    scale = math.sqrt(2.0 / num_features) * hyper.amplitude
    return Features(frequencies / hyper.lengthscales[:, None, :], phases, scale)
