import numpy as np
import pytest
from scipy import integrate, stats

from xstar.entropy import EPSettings, ep, expectation_propagation
from xstar.errors import SettingsError


def run(m, V, t, noise, imposed=None, backend=None, **settings):
    arrays = [np.asarray(a, dtype=float) for a in (m, V, t, noise)]
    imposed = np.ones(arrays[0].shape, dtype=bool) if imposed is None else np.asarray(imposed)
    if backend is not None:
        arrays, imposed = [backend.array(a) for a in arrays], backend.xp.asarray(imposed)
    return expectation_propagation(*arrays, imposed, EPSettings(**settings))


@pytest.mark.parametrize("m", [-6.0, -0.5, 0.0, 2.0, 9.0])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_one_site_is_exact(backend, m, noise):
    """One constraint, z >= 0.4 up to noise, on z ~ N(m, 2): mean, variance and probability by quadrature."""
    v, t = 2.0, 0.4
    sites = run([m], [[v]], [t], [noise**2], backend=backend)

    def density(z, power=0):
        factor = float(z >= t) if noise == 0.0 else stats.norm.cdf((z - t) / noise)
        return z**power * factor * stats.norm.pdf(z, m, np.sqrt(v))

    lower = t if noise == 0.0 else -30.0
    z0, z1, z2 = (integrate.quad(density, lower, 40.0, args=(k,), points=[t, m, t + 1], limit=400)[0] for k in range(3))
    np.testing.assert_allclose(backend.numpy(sites.mean), [z1 / z0], rtol=1e-6)
    np.testing.assert_allclose(backend.numpy(sites.covariance), [[z2 / z0 - (z1 / z0) ** 2]], rtol=1e-5)
    np.testing.assert_allclose(float(sites.log_evidence), np.log(z0), rtol=1e-6, atol=1e-8)


def test_several_sites_against_sampling(backend, rng):
    """Four correlated half-lines: mean, covariance and probability of 4 million draws, within EP's few per cent."""
    root = rng.standard_normal((4, 4))
    V = root @ root.T + 0.5 * np.eye(4)
    m, t = np.array([0.5, -0.3, 1.0, 0.2]), np.array([0.0, 0.1, -0.2, 0.0])
    z = rng.multivariate_normal(m, V, size=4_000_000)
    kept = z[np.all(z >= t, axis=1)]
    sites = run(m, V, t, np.zeros(4), backend=backend)
    sd = kept.std(axis=0)
    np.testing.assert_allclose(backend.numpy(sites.mean), kept.mean(axis=0), atol=0.02 * sd.max())
    np.testing.assert_allclose(backend.numpy(sites.covariance), np.cov(kept.T), atol=0.06 * sd.max() ** 2)
    np.testing.assert_allclose(float(sites.log_evidence), np.log(len(kept) / len(z)), atol=0.02)


def test_no_site_is_an_exact_zero(backend):
    sites = run([1.0, 2.0], np.eye(2), [0.0, 0.0], [0.0, 0.0], [False, True], backend=backend)
    assert backend.numpy(sites.precision)[0] == 0.0
    assert backend.numpy(sites.shift)[0] == 0.0
    assert backend.numpy(sites.mean)[0] == 1.0


@pytest.mark.parametrize("d", [1, 2, 6, 12, 20])
def test_random_problems_converge_with_positive_precisions(d):
    """2000 problems of d + 1 sites for each d, scales over eight decades, targets up to 6 standard deviations away."""
    rng = np.random.default_rng(d)
    K, count = d + 1, 2000
    root = rng.standard_normal((count, K, K + 1))
    unit = 10.0 ** rng.uniform(-4, 4, (count, K))
    V = (root @ np.swapaxes(root, -1, -2)) * unit[..., :, None] * unit[..., None, :] / K
    m = rng.uniform(-6, 6, (count, K)) * np.sqrt(np.diagonal(V, axis1=-2, axis2=-1))
    noise = np.where(rng.random((count, K)) < 0.5, 0.0, unit**2 * rng.random((count, K)))
    sites = run(m, V, np.zeros((count, K)), noise)
    assert sites.sweeps < 50
    assert np.all(sites.residual <= 1e-6)
    assert np.all(sites.precision >= 0.0)
    for part in (sites.precision, sites.shift, sites.mean, sites.covariance, sites.log_evidence):
        assert np.isfinite(part).all()
    assert np.linalg.eigvalsh(sites.covariance / (unit[..., :, None] * unit[..., None, :])).min() > -1e-8


def test_units_do_not_matter(rng):
    root = rng.standard_normal((3, 3))
    V, m, unit = root @ root.T + np.eye(3), rng.standard_normal(3), np.array([1e-5, 1.0, 1e6])
    one = run(m, V, [0.1, 0.0, -0.5], np.zeros(3))
    other = run(unit * m, unit[:, None] * V * unit, unit * np.array([0.1, 0.0, -0.5]), np.zeros(3))
    np.testing.assert_allclose(other.mean, unit * one.mean, rtol=1e-8)
    np.testing.assert_allclose(other.precision, one.precision / unit**2, rtol=1e-8)
    np.testing.assert_allclose(float(other.log_evidence), float(one.log_evidence), rtol=1e-8)


def test_too_few_sweeps_are_reported(rng):
    root = rng.standard_normal((5, 5))
    sites = run(np.full(5, -2.0), root @ root.T + 0.1 * np.eye(5), np.zeros(5), np.zeros(5), max_sweeps=1)
    assert sites.sweeps == 1
    assert float(sites.residual) > 1e-6


def correlated(seed, count, K, rho):
    """Correlations rho (of both signs where it is negative) and random ones on top, half of the sites with noise."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((count, K, K + 3))
    V = root @ np.swapaxes(root, -1, -2)
    sd = np.sqrt(np.diagonal(V, axis1=-2, axis2=-1))
    sign = rng.choice([-1.0, 1.0], (count, K)) if rho < 0.0 else np.ones((count, K))
    V = (1.0 - abs(rho)) * V / (sd[..., :, None] * sd[..., None, :])
    V += abs(rho) * sign[..., :, None] * sign[..., None, :]
    noise = np.where(rng.random((count, K)) < 0.5, 0.0, rng.random((count, K)))
    # Means far in the tails, except where correlations of both signs would make the constraints contradict each other.
    return rng.uniform(-4.0, 4.0, (count, K)) if rho >= 0.0 else rng.uniform(-1.0, 4.0, (count, K)), V, 0.0 * sd, noise


def one_by_one(problems):
    """The fixed point of sequential sweeps alone."""
    return run(*problems, max_sweeps=200, max_parallel_sweeps=0)


def assert_same_fixed_point(one, other):
    """To a few times the tolerance of 1e-6, in standard deviations."""
    assert np.all(one.residual <= 1e-6)
    assert np.all(other.residual <= 1e-6)
    sd = np.sqrt(np.diagonal(other.covariance, axis1=-2, axis2=-1))
    np.testing.assert_array_less(np.abs(one.mean - other.mean) / sd, 2e-5)
    scaled = (one.covariance - other.covariance) / (sd[..., :, None] * sd[..., None, :])
    np.testing.assert_array_less(np.abs(scaled), 5e-5)
    np.testing.assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("K", [1, 2, 5, 12, 21])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.99, 0.999, -0.5, -0.9])
def test_parallel_and_sequential_sweeps_have_the_same_fixed_point(K, rho):
    problems = correlated(K, 60, K, rho)
    assert_same_fixed_point(run(*problems), one_by_one(problems))


@pytest.mark.parametrize(
    "settings",
    [{"damping": 0.3}, {"late_after": 2, "late_damping": 0.2}, {"max_parallel_sweeps": 0, "undamped_sweeps": 0}],
    ids=["damped", "damped late", "sequential, damped"],
)
def test_damping_changes_the_way_and_not_the_fixed_point(settings):
    problems = correlated(5, 40, 5, 0.5)
    other = run(*problems, max_sweeps=400, **settings)
    assert other.sweeps != run(*problems).sweeps
    assert_same_fixed_point(other, run(*problems))


def test_settings_are_checked():
    with pytest.raises(SettingsError, match="damping must be a number > 0"):
        EPSettings(damping=0.0)
    with pytest.raises(SettingsError, match="max_sweeps must be at least 1; received 0"):
        EPSettings(max_sweeps=0)


def test_backends_have_the_same_fixed_point(backend):
    problems = correlated(3, 10, 6, 0.95)
    one, other = run(*problems, backend=backend), run(*problems)
    np.testing.assert_allclose(backend.numpy(one.mean), other.mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(backend.numpy(one.covariance), other.covariance, rtol=1e-5, atol=1e-8)


def stopped_early(monkeypatch):
    return {"max_parallel_sweeps": 8}


def driven_far(monkeypatch):
    """Sites that jump to and fro for ever."""

    def jump(p, number, settings):
        return 0.0 * p.precision + (10.0 if number % 2 else 0.1), 0.0 * p.shift - 100.0

    monkeypatch.setattr(ep, "_parallel_sweep", jump)
    return {}


@pytest.mark.parametrize("spoil", [stopped_early, driven_far])
def test_what_parallel_sweeps_do_not_settle_is_mended(monkeypatch, spoil):
    """Some, or all, are left to be settled by sequential sweeps, and are: at the same fixed points."""
    problems = correlated(8, 80, 12, 0.99)
    expected = one_by_one(problems)
    settings = spoil(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(ep, "_sequential_sweep", lambda p, number, settings: (p.precision, p.shift))  # mends nothing
        off = np.abs(run(*problems, **settings).mean - expected.mean).max(axis=-1) > 1e-3
    assert off.any(), "nothing was left to be mended"
    assert_same_fixed_point(run(*problems, **settings), expected)


def test_settled_and_mended_problems_keep_their_places():
    """Hard problems among easy ones: each result is that of the problem alone."""
    few = {"max_parallel_sweeps": 12}
    easy, hard = correlated(1, 30, 6, 0.0), correlated(2, 10, 6, 0.999)
    order = np.random.default_rng(0).permutation(40)
    mixed = tuple(np.concatenate(pair)[order] for pair in zip(easy, hard, strict=True))
    found = run(*mixed, **few)
    for row in (*np.flatnonzero(order >= 30), *np.flatnonzero(order < 30)[:10]):
        alone = run(*(part[row] for part in mixed), **few)
        np.testing.assert_allclose(found.mean[row], alone.mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.log_evidence[row], alone.log_evidence, rtol=1e-6, atol=1e-6)
