"""What every acquisition must do."""

import numpy as np
import pytest

from tests.oracles import differences
from xstar.acquisition import EI, ES, MES, PES, LogEI, Thompson
from xstar.errors import DataError, SettingsError
from xstar.gp import Hyperparameters, Matern52, Posterior, SquaredExponential
from xstar.numerics import arrays
from xstar.search import BoxSearch, cube, draw_candidates

ALL = [
    PES(8, 100),
    PES(8, 100, boundary="paper", incumbent="paper", paths="weights"),
    ES(8),
    EI(),
    LogEI(),
    MES(8, 100),
    Thompson(1, 100),
    Thompson(3, 100),
]
SE = SquaredExponential()
EVERY = pytest.mark.parametrize(
    "acquisition", ALL, ids=["PES", "PES-2014", "ES", "EI", "LogEI", "MES", "Thompson", "Thompson-3"]
)


def posterior(H=None, n=7, d=2, place=np.asarray, noise=0.1, kernel=SE, seed=5):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.sin(5.0 * X[:, 0]) + X[:, -1]
    if H is None:
        h = Hyperparameters(np.full(d, 0.4), 1.2, noise)
    else:
        h = Hyperparameters(0.3 + 0.3 * rng.random((H, d)), 1.0 + rng.random(H), noise)
    return Posterior(kernel, h, place(X), place(y))


@EVERY
@pytest.mark.parametrize("H", [None, 1, 3])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_shapes_and_finiteness(rng, acquisition, H, n):
    score = acquisition.prepare(posterior(H, n), rng)
    X = rng.random((5, 2))
    value, gradient = score.value_and_gradient(X)
    assert value.shape == (5,)
    assert gradient.shape == (5, 2)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()
    np.testing.assert_allclose(score(X), value, rtol=1e-9, atol=1e-12)
    assert score.diagnostics
    assert score(np.zeros((0, 2))).shape == (0,)


@EVERY
@pytest.mark.parametrize("kernel", [SquaredExponential(), Matern52()])
@pytest.mark.parametrize("d", [1, 3])
def test_gradients_against_differences(rng, acquisition, kernel, d):
    score = acquisition.prepare(posterior(2, 9, d, kernel=kernel), rng)
    X = 0.05 + 0.9 * rng.random((12, d))
    if isinstance(acquisition, PES):
        # Next to x_star the spread of f(x_star) - f(x) is a difference of nearly equal numbers; a quotient shows it.
        gaps = np.abs(X[:, None, :] - score.score.maximizers.x.reshape(-1, d)).max(axis=-1).min(axis=1)
        X = X[gaps > 0.03]
    _, gradient = score.value_and_gradient(X)
    expected = np.stack([differences.gradient(lambda z: score(z[None])[0], x, 1e-4) for x in X])
    scale = np.abs(expected).max(axis=1, keepdims=True) + 1e-6
    # The gradient of ES is itself a quotient.
    np.testing.assert_array_less(np.abs(gradient - expected) / scale, 1e-2 if isinstance(acquisition, ES) else 1e-6)


@pytest.mark.parametrize("acquisition", [one for one in ALL if not isinstance(one, Thompson)], ids=str)
def test_gradients_with_pending_points_against_differences(acquisition):
    """Each path has values of its own at them."""
    pending = np.array([[0.3, 0.6], [0.8, 0.2]])
    score = acquisition.prepare(posterior(2, 9), np.random.default_rng(3), pending=pending)
    X = 0.05 + 0.9 * np.random.default_rng(4).random((12, 2))
    known = [pending] if score.starts is None else [pending, score.starts[0]]
    X = X[np.abs(X[:, None, :] - np.concatenate(known)).max(axis=-1).min(axis=1) > 0.03]
    _, gradient = score.value_and_gradient(X)
    expected = np.stack([differences.gradient(lambda z: score(z[None])[0], x, 1e-4) for x in X])
    scale = np.abs(expected).max(axis=1, keepdims=True) + 1e-6
    np.testing.assert_array_less(np.abs(gradient - expected) / scale, 1e-2 if isinstance(acquisition, ES) else 1e-6)


@EVERY
def test_backends_agree(backend, acquisition):
    X = np.random.default_rng(0).random((4, 2))
    expected = acquisition.prepare(posterior(2), np.random.default_rng(3)).value_and_gradient(X)
    score = acquisition.prepare(posterior(2, place=backend.array), np.random.default_rng(3))
    for one, other in zip(expected, score.value_and_gradient(backend.array(X)), strict=True):
        np.testing.assert_allclose(backend.numpy(other), one, rtol=1e-4, atol=1e-5)


@EVERY
def test_the_seed_decides_and_blocks_do_not(acquisition, monkeypatch):
    X = np.random.default_rng(0).random((40, 2))
    one = acquisition.prepare(posterior(2), np.random.default_rng(3)).value_and_gradient(X)
    monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", 2000)
    other = acquisition.prepare(posterior(2), np.random.default_rng(3)).value_and_gradient(X)
    for first, second in zip(one, other, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-8)


@EVERY
def test_the_search_can_maximize_it(rng, acquisition):
    post = posterior(2)
    score = acquisition.prepare(post, rng)
    found = BoxSearch(num_starts=4).maximize(score, draw_candidates(64, post.data.X, rng))
    assert found.x.shape == (score.num_problems, 2)
    assert score(found.x).max() >= score(rng.random((50, 2))).max() - 0.05 * abs(score(found.x).max())


@EVERY
def test_pending_points_are_accepted_and_taken_into_account(rng, acquisition):
    pending = np.array([[0.5, 0.5], [0.9, 0.1]])
    plain = acquisition.prepare(posterior(2), np.random.default_rng(3))
    informed = acquisition.prepare(posterior(2), np.random.default_rng(3), pending=pending)
    if not isinstance(acquisition, Thompson):
        assert np.all(informed(pending) < plain(pending))
    assert acquisition.prepare(posterior(2), np.random.default_rng(3), pending=np.zeros((0, 2)))(
        pending
    ) == pytest.approx(plain(pending))


def test_bad_arguments_are_named(rng):
    with pytest.raises(SettingsError, match="post must be a Posterior"):
        EI().prepare(None, rng)
    with pytest.raises(SettingsError, match="rng must be a Generator"):
        EI().prepare(posterior(), 3)
    with pytest.raises(DataError, match="pending must have 2 coordinates"):
        EI().prepare(posterior(), rng, pending=[[0.1]])
    with pytest.raises(DataError, match="X must have 2 coordinates"):
        EI().prepare(posterior(), rng)([[0.1]])
    batch = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), np.zeros((2, 3, 1)), np.zeros((2, 3)))
    with pytest.raises(DataError, match="several data sets need leading axes"):
        EI().prepare(batch, rng)
    for build, message in (
        (lambda: PES(0), "num_samples must be at least 1"),
        (lambda: PES(boundary="open"), 'boundary must be "aware" or "paper"; received'),
        (lambda: PES(incumbent=None), 'incumbent must be "latent" or "paper"'),
        (lambda: PES(paths="rough"), 'paths must be "exact" or "weights"'),
        (lambda: PES().prepare(posterior(), rng, domain=cube(3)), "domain has 3 columns for 2 coordinates"),
        (lambda: ES(1), "num_representers must be at least 2"),
        (lambda: MES(2.5), "num_samples must be a whole number"),
        (lambda: Thompson(0), "num_samples must be at least 1"),
    ):
        with pytest.raises(SettingsError, match=message):
            build()
