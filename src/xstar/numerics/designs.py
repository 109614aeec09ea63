"""Points that fill the unit cube: a scrambled Sobol sequence.

SciPy has one, but importing scipy.stats takes longer than the first suggestion of a study should. Nor is a table of
direction numbers needed: drawn at random with a little care, they fill the cube as well as those of the table.

    v               direction numbers: row i has the binary digits of what bit i of an index adds     (bits, dimension)
    polynomials     one for each coordinate, without common factors; coefficients in {0, 1} are bits      (dimension,)
    degree          theirs, never falling                                                                 (dimension,)

[Sob67]  Sobol, On the distribution of points in a cube and the approximate evaluation of integrals, 1967.
[BF88]   Bratley & Fox, Algorithm 659: implementing Sobol's quasirandom sequence generator, 1988.
[Nie92]  Niederreiter, Random number generation and quasi-Monte Carlo methods, 1992.
[Mat98]  Matousek, On the L2-discrepancy for anchored boxes, 1998.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import generator, integer

Bits = npt.NDArray[np.int64]
BITS = 53
"""Binary digits of a coordinate: as many as a float has."""
FIRST = 1 << (BITS - 1)
"""The first digit."""


def sobol(count: int, dimension: int, rng: np.random.Generator) -> HostArray:
    """Return the first `count` points of a scrambled Sobol sequence, shape (count, dimension).

    Balanced when `count` is a power of two; any count is allowed. The state of the generator decides on the whole
    sequence: a longer one begins with the same points.

    Point k is the exclusive or of the direction numbers of the bits of k [Sob67], scrambled by a random matrix and a
    random shift of each coordinate [Mat98].
    """
    integer(count, "count", 0)
    integer(dimension, "dimension", 1)
    generator(rng)
    points = rng.integers(1 << BITS, size=(1, dimension))
    for direction in _scramble(_directions(max(count - 1, 0).bit_length(), dimension, rng), rng):
        points = np.concatenate([points, points ^ direction])
    return np.asarray(points[:count] * 2.0**-BITS)


def _directions(bits: int, dimension: int, rng: np.random.Generator) -> Bits:
    """Direction numbers of the first `bits` bits of an index.

    v_i = a_1 v_{i-1} ^ ... ^ a_s v_{i-s} ^ (v_{i-s} >> s) with the polynomial x^s + a_1 x^{s-1} + ... + a_s [BF88].
    The first s are free: v_i has a one as digit i, no digits after it, and here random ones before it. In the plane
    of two coordinates of degrees s and t, every dyadic box then has its share of points, as soon as that share is
    2^(s+t-2) [Nie92, chapter 4].
    """
    found = _irreducible(dimension)
    polynomials, degree = np.array(found), np.array([polynomial.bit_length() - 1 for polynomial in found])
    longest, columns = int(degree[-1]), np.arange(dimension)
    power = np.arange(1, longest + 1)[:, None]
    taps = np.where(power <= degree, polynomials >> np.maximum(degree - power, 0) & 1, 0)
    digit = 1 << (BITS - power)
    inner = (rng.integers(1 << BITS, size=(longest, dimension)) & -digit | digit) & ~FIRST
    start = inner | (_leading_digits(polynomials, degree, rng) >> (power - 1) & 1) * FIRST
    v = np.concatenate([start, np.zeros((max(bits - longest, 0), dimension), dtype=np.int64)])
    for i in range(1, len(v)):
        last = v[max(i - longest, 0) : i][::-1]
        new = np.bitwise_xor.reduce(taps[: len(last)] * last, axis=0) ^ (v[i - degree, columns] >> degree)
        v[i] = np.where(i < degree, v[i], new)
    return v[:bits]


def _leading_digits(polynomials: Bits, degree: Bits, rng: np.random.Generator) -> Bits:
    """The first digits of v_0, v_1, ... as bits 0, 1, ..., shape (dimension,).

    Where two coordinates have the same, they are in the same half of [0, 1] for all points or for none. So s digits are
    drawn that none of the coordinates before has, if there are any left.
    """
    leading = np.zeros(0, dtype=np.int64)
    for s in range(1, int(degree[-1]) + 1):
        before = slice(len(leading))
        tapped = leading >> np.maximum(s - 1 - degree[before], 0) & polynomials[before]
        leading = leading | _parity(tapped) << (s - 1)
        drawn = 2 * rng.permutation(1 << (s - 1)) + 1
        new = drawn[~np.isin(drawn, leading)]
        leading = np.concatenate([leading, np.resize(np.append(new, drawn), np.count_nonzero(degree == s))])
    return leading


def _scramble(v: Bits, rng: np.random.Generator) -> Bits:
    """Each digit becomes the parity of itself and of a random choice of the digits before it."""
    digit = 1 << np.arange(BITS)[:, None]
    chosen = rng.integers(1 << BITS, size=(BITS, v.shape[1])) & -digit | digit
    return np.asarray(np.sum(_parity(v & chosen[:, None]) * digit[:, None], axis=0))


def _parity(numbers: Bits) -> Bits:
    """Whether the number of ones is odd."""
    return np.bitwise_count(numbers).astype(np.int64) & 1


def _irreducible(count: int) -> list[int]:
    """The first polynomials over {0, 1} that are no products: x, x + 1, x^2 + x + 1, ... as 2, 3, 7, ..."""
    found: list[int] = []
    for candidate in itertools.count(2):
        if len(found) == count:
            break
        bound = 1 << (candidate.bit_length() + 1) // 2
        if all(_remainder(candidate, factor) for factor in itertools.takewhile(bound.__gt__, found)):
            found.append(candidate)
    return found


def _remainder(polynomial: int, divisor: int) -> int:
    while (excess := polynomial.bit_length() - divisor.bit_length()) >= 0:
        polynomial ^= divisor << excess
    return polynomial
