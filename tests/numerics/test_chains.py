"""How well chains have mixed: against chains whose answer is known."""

import math

import numpy as np
import pytest

from xstar.numerics.chains import effective_sample_size, split_r_hat


def test_r_hat_tells_mixed_chains_from_separated_ones(rng):
    mixed = rng.standard_normal((200, 4, 2))
    np.testing.assert_allclose(split_r_hat(mixed), 1.0, atol=0.03)
    apart = mixed + np.arange(4)[None, :, None]
    assert np.all(split_r_hat(apart) > 1.4)
    drifting = mixed + np.linspace(0.0, 3.0, 200)[:, None, None]
    assert np.all(split_r_hat(drifting) > 1.2)
    assert np.all(np.isnan(split_r_hat(mixed[:3])))
    np.testing.assert_array_equal(split_r_hat(np.zeros((10, 2, 1))), 1.0)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_effective_sample_size_of_an_autoregression(rng, correlation):
    """For an AR(1) chain it is N (1 - r) / (1 + r), estimated here within 20 %."""
    sweeps, chains = 4000, 4
    x = np.empty((sweeps, chains, 1))
    x[0] = rng.standard_normal((chains, 1))
    for t in range(1, sweeps):
        x[t] = correlation * x[t - 1] + math.sqrt(1.0 - correlation**2) * rng.standard_normal((chains, 1))
    expected = sweeps * chains * (1.0 - correlation) / (1.0 + correlation)
    np.testing.assert_allclose(effective_sample_size(x), expected, rtol=0.2)
    assert np.isnan(effective_sample_size(x[:3])).all()
