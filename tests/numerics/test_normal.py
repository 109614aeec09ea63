"""Against mpmath, to 1e-10 relative, for |a| from 1e-300 to 1e8."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstar.numerics.normal import hazard, log_ndtr, truncated_moments

MAGNITUDES = np.concatenate([10.0 ** np.linspace(-300, -3, 40), 10.0 ** np.linspace(-3, 8, 400), np.arange(1.0, 40.0)])
POINTS = np.concatenate([-MAGNITUDES[::-1], [0.0], MAGNITUDES])
SMALLEST = 1e-300  # results below are denormal or zero: relative accuracy ends here


def mp_values(a):
    """log Phi, hazard, excess and variance with as many digits as the cancellation eats."""
    with mpmath.workdps(100):
        a = mpmath.mpf(float(a))
        if a < -60:
            # Beyond float range mpmath's erfc is exact but slow; its asymptotic series has more digits than we ask for.
            x = -a
            terms = [mpmath.mpf(1)]
            for k in range(1, 40):
                term = -terms[-1] * (2 * k - 1) / x**2
                if abs(term) > abs(terms[-1]):
                    break
                terms.append(term)
            mills = mpmath.fsum(terms) / x
        else:
            mills = mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(a * a / 2) * mpmath.erfc(-a / mpmath.sqrt(2))
        rate = 1 / mills
        if a > 0:
            log_cdf = mpmath.log1p(-mpmath.erfc(a / mpmath.sqrt(2)) / 2)
        else:
            log_cdf = mpmath.log(mills) - a * a / 2 - mpmath.log(mpmath.sqrt(2 * mpmath.pi))
        return log_cdf, rate, rate + a, 1 - rate * (rate + a)


TRUTH = [mp_values(a) for a in POINTS]


def worst_relative_error(computed, column):
    errors = []
    for value, exact in zip(computed, TRUTH, strict=True):
        target = exact[column]
        if abs(target) < SMALLEST:
            assert abs(value) <= SMALLEST
        else:
            errors.append(float(abs(mpmath.mpf(float(value)) / target - 1)))
    return max(errors)


def test_the_oracle_itself():
    """The two branches of the oracle agree where they meet, and the hazard at 0 is sqrt(2 / pi)."""
    with mpmath.workdps(50):
        below = mp_values(-60.0001)[1] - mp_values(-59.9999)[1]
        assert abs(below - mpmath.mpf("0.0002")) < 1e-6
        assert abs(mp_values(0.0)[1] - mpmath.sqrt(2 / mpmath.pi)) < 1e-30


def test_log_ndtr(backend):
    assert worst_relative_error(backend.numpy(log_ndtr(backend.array(POINTS))), 0) < 1e-10


def test_hazard(backend):
    assert worst_relative_error(backend.numpy(hazard(backend.array(POINTS))), 1) < 1e-10


def test_truncated_moments(backend):
    mean, excess, variance = (backend.numpy(part) for part in truncated_moments(backend.array(POINTS)))
    assert worst_relative_error(mean, 1) < 1e-10
    assert worst_relative_error(excess, 2) < 1e-10
    assert worst_relative_error(variance, 3) < 1e-10


def test_limits(backend):
    a = backend.array([-1e150, 1e150])
    np.testing.assert_allclose(backend.numpy(log_ndtr(a)), [-0.5e300, 0.0])
    np.testing.assert_allclose(backend.numpy(hazard(a)), [1e150, 0.0])


@given(st.floats(-1e8, 1e8))
def test_truncated_variance_is_a_fraction_of_the_full_one(a):
    mean, excess, variance = truncated_moments(np.array([a]))
    assert 0.0 < variance[0] <= 1.0
    assert excess[0] > 0.0
    assert mean[0] >= 0.0


@given(st.floats(-30.0, 30.0), st.floats(1e-3, 1.0))
def test_hazard_falls_and_log_ndtr_rises(a, step):
    low, high = np.array([a]), np.array([a + step])
    assert hazard(high)[0] < hazard(low)[0]
    assert log_ndtr(high)[0] >= log_ndtr(low)[0]


@pytest.mark.parametrize("a", [-3.0, -0.5, 0.0, 2.0])
def test_moments_against_sampling(a, rng):
    """Error of the mean of 10^5 draws: 5 standard errors, failure probability below 1e-6."""
    z = rng.standard_normal(4_000_000)
    kept = z[z >= -a][:100_000]
    mean, _, variance = (float(part[0]) for part in truncated_moments(np.array([a])))
    assert abs(kept.mean() - mean) < 5.0 * math.sqrt(variance / kept.size)
