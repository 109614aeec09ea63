"""Draws of optima, and what knowing that nothing dominates them takes off a variance."""

import numpy as np
import pytest
from scipy import stats

from xstar.entropy import draw_optima
from xstar.entropy.joint import undominated
from xstar.gp import Hyperparameters, Outputs, Posterior, SquaredExponential, draw_paths
from xstar.search import Choice, Domain, Interval, Lattice

SE = SquaredExponential()


def posterior(seed, d=2, H=2, n=8, lengthscale=0.3):
    rng = np.random.default_rng(seed)
    hyper = Hyperparameters(np.full((H, d), lengthscale), np.ones(H), 0.05)
    prior = Posterior(SE, Hyperparameters(np.full(d, lengthscale), 1.0, 0.05), np.zeros((0, d)), np.zeros(0))
    X = np.random.default_rng(0).random((n, d))
    return Posterior(SE, hyper, X, draw_paths(prior, 1, rng)(X)[0])


@pytest.mark.parametrize("means", [(0.5,), (-1.0, 0.7), (1.5, 2.0), (0.3, -0.2, 1.0)])
def test_the_variance_of_what_does_not_dominate(means):
    """Against sampling: the variance of each of several standard normals, not all of which are positive."""
    rng = np.random.default_rng(0)
    draws = np.array(means) + rng.standard_normal((400_000, len(means)))
    kept = draws[~np.all(draws > 0.0, axis=1)]
    shape = (1, 1, 1, 1, 1)
    found = undominated([np.full(shape, mean) for mean in means], [np.ones(shape, dtype=bool)] * len(means))
    expected = np.maximum(1.0 - kept.var(axis=0), 0.0)
    np.testing.assert_allclose([share.item() for share in found.share], expected, atol=6e-3)


def test_one_output_is_the_truncated_normal():
    a = np.linspace(-6.0, 6.0, 25).reshape(1, 1, 1, 1, -1)
    found = undominated([a], [np.ones((1, 1, 1, 1, 1), dtype=bool)])
    expected = [1.0 - stats.truncnorm(-np.inf, -x).var() for x in a.ravel()]
    np.testing.assert_allclose(found.share[0].ravel(), expected, rtol=1e-6, atol=1e-12)


def test_shares_stay_finite_where_everything_is_certain():
    a = np.array([-30.0, -8.0, 0.0, 8.0, 30.0])
    grid = [part.reshape(1, 1, 1, 1, -1) for part in np.meshgrid(a, a)]
    for counts in ([True, True], [True, False], [False, False]):
        found = undominated(grid, [np.full((1, 1, 1, 1, 1), counted) for counted in counts])
        for part in (*found.share, *found.by_own, *found.by_odds, *found.odds_by_own):
            assert np.all(np.isfinite(part))
        assert all(np.all((share >= 0.0) & (share <= 1.0)) for share in found.share)
    assert not np.any(found.share)  # an output without a part in the event learns nothing from it


@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_constrained_optimum_is_the_best_feasible_point(rng, d):
    outputs = Outputs((posterior(1, d),), (posterior(2, d),), (0.0,))
    optima = draw_optima(outputs, 6, rng)
    x = optima.x[0, ..., 0, :]
    value, slack = (paths(optima.x)[0, ..., 0] for paths in optima.paths)
    ok = optima.feasible[0]
    assert ok.any()
    assert np.all(slack[ok] > -1e-3)
    others = rng.random((4_000, d))
    everywhere, allowed = optima.paths[0](others)[0], optima.paths[1](others)[0] >= 0.0
    best = np.where(allowed, everywhere, -np.inf).max(axis=-1)
    assert np.mean(value[ok] >= best[ok] - 1e-6) >= 0.9  # a search from a few starts
    held = optima.held[0, ..., 0, 0]
    np.testing.assert_allclose(slack[held & ok], 0.0, atol=1e-4)
    assert np.all((x >= 0.0) & (x <= 1.0))


def test_where_nothing_is_feasible_the_violation_is_least(rng):
    outputs = Outputs((posterior(1),), (posterior(2),), (9.0,))
    optima = draw_optima(outputs, 4, rng)
    assert not optima.feasible.any()
    assert optima.present.sum() == optima.feasible.size
    constraint = optima.paths[1](rng.random((2_000, 2)))[0]
    assert np.all(optima.values[1, 0, ..., 0] >= constraint.max(axis=-1) - 1e-6)


def test_points_of_a_pareto_set_are_not_dominated(rng):
    outputs = Outputs((posterior(1), posterior(2)))
    optima = draw_optima(outputs, 6, rng, num_points=3)
    others = rng.random((4_000, 2))
    every = np.stack([paths(others)[0] for paths in optima.paths])
    for i in range(3):
        own = optima.values[:, 0, ..., i]
        dominated = np.any(np.all(every > own[..., None] + 1e-6, axis=0), axis=-1)
        assert dominated.mean() <= 0.1
    spread = np.ptp(optima.values[0, 0], axis=-1)
    assert np.median(spread) > 0.3
    volumes = optima.volumes(np.array([-3.0, -3.0]))
    assert volumes.shape == (12,)
    assert np.all(volumes > 0.0)


def test_lattices_and_choices(rng):
    domain = Domain((Interval(), Lattice(4), Choice(3)))
    outputs = Outputs((posterior(1, 5), posterior(3, 5)), (posterior(2, 5),), (-0.5,))
    from xstar.search import Region

    optima = draw_optima(outputs, 4, rng, region=Region(domain))
    rows = optima.x.reshape(-1, 5)
    np.testing.assert_array_equal(domain.snap(rows), rows)
    ok = np.broadcast_to(optima.feasible[..., None], optima.present.shape) & optima.present
    assert np.all(optima.values[2][ok] > -0.5 - 0.01)
