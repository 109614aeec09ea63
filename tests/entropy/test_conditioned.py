"""The conditioned prediction against dense algebra and against rejection sampling."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.rejection import joint_draws
from tests.oracles import differences
from xstar.entropy import Functionals, condition, constrain, draw_maximizers
from xstar.gp import Hyperparameters, Matern52, Posterior, SquaredExponential
from xstar.gp.jets import jet_layout

BOTH = pytest.mark.parametrize("kernel", [SquaredExponential(), Matern52()], ids=["SquaredExponential", "Matern52"])


def posterior(kernel, rng, n=6, d=2, H=2):
    X = rng.random((n, d))
    h = Hyperparameters(0.3 + 0.2 * rng.random((H, d)), 1.0 + rng.random(H), 0.05)
    return Posterior(kernel, h, X, np.sin(5.0 * X[:, 0]) + X[:, -1])


def several(kernel, rng, R=2, n=6, d=2, H=2):
    """Problems with data and hyperparameters of their own, leading axes (R, H)."""
    X = rng.random((R, 1, n, d))
    h = Hyperparameters(0.3 + 0.2 * rng.random((R, H, d)), 1.0 + rng.random((R, H)), 0.02 + 0.05 * rng.random((R, H)))
    y = np.sin(5.0 * X[..., 0] + np.arange(R)[:, None, None]) + X[..., -1]
    return Posterior(kernel, h, X, y)


def prepared(post, rng, num_samples=4, competitors=None, **settings):
    drawn = draw_maximizers(post, num_samples, rng, num_features=200)
    post = post.by_problem()
    competitors = np.zeros((post.batch_shape[0], 1, 0, post.dimension)) if competitors is None else competitors
    functionals = Functionals(post.kernel, post.hyper, drawn.x, competitors)
    constraints = constrain(drawn, competitors.shape[-2], **settings)
    return drawn, functionals, constraints, condition(post, post.alpha[:, :, None, :], functionals, constraints)


@BOTH
@pytest.mark.parametrize("d", [1, 2, 3])
def test_against_dense_conditioning(rng, kernel, d):
    """Condition the joint Gaussian of (data, T, f(x)) on data, equalities and sites in one go, path by path."""
    post = several(kernel, rng, d=d)
    R = post.batch_shape[0]
    competitors = rng.random((R, 1, 2, d))
    best, noise_variance = post.data.y[:, 0].max(axis=-1), post.hyper.noise_variance
    drawn, functionals, constraints, conditioned = prepared(
        post, rng, competitors=competitors, best_value=best, best_noise_variance=noise_variance
    )
    Z = rng.random((R, 1, 3, d))
    p = conditioned.variances(Z)
    prior_T, cov_Z, cov_X = functionals.prior(), functionals.covariance(Z), functionals.covariance(post.data.X)
    n, length = post.data.count, functionals.length
    assert drawn.x.shape == (R, 2, 4, d)
    for r, h, s in np.ndindex(*drawn.x.shape[:3]):
        at = (r, h, s)
        one = Hyperparameters(post.hyper.lengthscales[r, h], post.hyper.amplitude[r, h], post.hyper.noise[r, h])
        X, y = post.data.X[r, 0], post.data.y[r, 0]
        K = kernel.covariance(one, X, X) + float(one.noise_variance) * np.eye(n)
        known = constraints.equal[at]
        tau, nu, M = (
            part[at] for part in (conditioned.sites.precision, conditioned.sites.shift, constraints.combination)
        )
        on = tau > 0.0
        # Rows of pseudo-observations: data, equalities, sites, as linear maps of (data values, T).
        maps = np.block([
            [np.eye(n), np.zeros((n, length))],
            [np.zeros((known.sum(), n)), np.eye(length)[known]],
            [np.zeros((on.sum(), n)), M[on]],
        ])  # fmt: skip
        joint = np.block([[K, cov_X[at]], [cov_X[at].T, prior_T[at]]])
        extra = np.diag(np.concatenate([np.zeros(n + known.sum()), 1.0 / tau[on]]))
        gram = maps @ joint @ maps.T + extra
        targets = np.concatenate([y, constraints.equal_to[at][known], nu[on] / tau[on]])
        cross = np.concatenate([kernel.covariance(one, Z[r, 0], X), cov_Z[at]], axis=1) @ maps.T
        to_best = joint[n] @ maps.T
        solved = np.linalg.solve(gram, cross.T)
        mean = targets @ solved
        variance = float(one.variance) - np.sum(cross.T * solved, axis=0)
        np.testing.assert_allclose(conditioned.explaining[at], np.linalg.solve(K, cov_X[at]), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(p.variance[r, h, 0] - p.reduction[at], variance, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(p.mean[at], mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(p.covariance[at], cov_Z[at][:, 0] - to_best @ solved, rtol=1e-4, atol=1e-6)
        best_solved = np.linalg.solve(gram, to_best)
        np.testing.assert_allclose(conditioned.best_mean[at], targets @ best_solved, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            conditioned.best_variance[at], prior_T[at][0, 0] - to_best @ best_solved, rtol=1e-3, atol=1e-6
        )


def fixed_maximizer(post, x_star, rng):
    """A Maximizers object at a given point in one dimension."""
    drawn = draw_maximizers(post, 1, rng, num_features=50)
    active = np.array([[[[x_star in (0.0, 1.0)]]]])
    outward = np.array([[[[2.0 * x_star - 1.0]]]]) * active
    hessian = np.full((1, 1, 1, 1, 1), -1.0)
    return replace(drawn, x=np.array([[[[x_star]]]]), active=active, outward=outward, hessian=hessian)


@pytest.mark.parametrize("kernel", [SquaredExponential()])
def test_variance_given_the_maximizer_against_rejection_sampling(rng, kernel):
    """In one dimension, for the cells that hold most of p(x_star | D), interior and on a face.

    v(x | x_star) at 41 points against the variance of the draws whose maximum is in the cell. EP and a Gaussian
    comparison are approximations: the surfaces must correlate and agree in the mean within a quarter.
    """
    h = Hyperparameters([[0.25]], [1.0], [0.02])
    X = np.array([[0.15], [0.4], [0.8]])
    post = Posterior(kernel, h, X, np.array([0.3, -0.6, 0.5]))
    grid = np.linspace(0.0, 1.0, 81)[:, None]
    mean, covariance = (part[0] for part in post.joint(grid))
    draws = joint_draws(mean, covariance, 400_000, rng)
    cells = np.argmax(draws, axis=1)
    counts = np.bincount(cells, minlength=81)
    post = post.by_problem()
    checked = [0, 80, int(np.argmax(counts[1:80])) + 1]
    points = grid[::2]
    for cell in checked:
        members = draws[cells == cell][:, ::2].astype(float)
        assert len(members) > 2000
        drawn = fixed_maximizer(post, float(grid[cell, 0]), rng)
        competitors = grid[[10, 30, 50, 70]][None, None]
        functionals = Functionals(kernel, post.hyper, drawn.x, competitors)
        conditioned = condition(post, post.alpha[:, :, None, :], functionals, constrain(drawn, 4))
        p = conditioned.variances(points[None, None])
        mine = (p.variance - p.reduction - conditioned.truncate(p).reduction)[0, 0, 0]
        truth = members.var(axis=0)
        assert np.corrcoef(mine, truth)[0, 1] > 0.95
        assert mine.mean() == pytest.approx(truth.mean(), rel=0.25)


@BOTH
def test_the_gradient_of_the_parts(rng, kernel):
    """Pulling back unit derivatives gives the gradients of v(x), the mean and each entry of q, for each problem."""
    post = several(kernel, rng)
    R = post.batch_shape[0]
    _, functionals, _, conditioned = prepared(post, rng, competitors=rng.random((R, 1, 1, 2)))
    x = rng.random((R, 1, 1, 2))
    p = conditioned.variances(x)
    weights = (
        rng.standard_normal(p.mean.shape),
        rng.standard_normal(p.mean.shape),
        rng.standard_normal((*p.mean.shape, functionals.length)),
    )

    def totals(z):
        at = conditioned.variances(np.broadcast_to(z, x.shape))
        unshifted = at.mean - np.sum(at.q * conditioned.shift[..., None, :], axis=-1)
        summands = weights[0] * at.variance + weights[1] * unshifted + np.sum(weights[2] * at.q, axis=-1)
        return np.sum(summands, axis=(1, 2, 3))

    found = conditioned.pull_back(x, p, *weights)
    assert found.shape == (R, 1, 2)
    for r in range(R):
        expected = differences.gradient(totals, x[r, 0, 0], 1e-3)[r]
        np.testing.assert_allclose(found[r, 0], expected, rtol=1e-6, atol=1e-7)


@BOTH
def test_problems_are_conditioned_each_on_its_own(rng, kernel):
    """All of them at once, a few taken out, and one conditioned alone: the same predictions and gradients."""
    post = several(kernel, rng, R=3)
    competitors, best = rng.random((3, 1, 2, 2)), post.data.y[:, 0].max(axis=-1)
    present = np.array([[True, True], [True, False], [False, False]])
    drawn, functionals, _, whole = prepared(
        post,
        rng,
        competitors=competitors,
        best_value=best,
        best_noise_variance=post.hyper.noise_variance,
        present=present,
    )
    Z = rng.random((3, 1, 5, 2))
    p = whole.variances(Z)
    by = tuple(rng.standard_normal((*p.mean.shape, *tail)) for tail in ((), (), (functionals.length,)))
    gradient = whole.pull_back(Z, p, *by)
    for r in range(3):
        rows = np.array([r])
        own = replace(drawn, **{
            name: getattr(drawn, name)[rows] for name in ("x", "active", "outward", "hessian", "stationary")
        })  # fmt: skip
        single, kept = post.take(rows), competitors[rows][:, :, present[r]]
        alone = condition(
            single, single.alpha[:, :, None, :], Functionals(kernel, single.hyper, own.x, kept),
            constrain(own, kept.shape[-2], best_value=best[rows], best_noise_variance=single.hyper.noise_variance),
        )  # fmt: skip
        for one in (whole.take(rows).variances(Z[rows]), alone.variances(Z[rows])):
            for name in ("variance", "reduction", "mean", "covariance"):
                np.testing.assert_allclose(getattr(one, name), getattr(p, name)[rows], rtol=1e-5, atol=1e-6)
        taken = whole.take(rows)
        np.testing.assert_allclose(
            taken.pull_back(Z[rows], taken.variances(Z[rows]), *(part[rows] for part in by)), gradient[rows], rtol=1e-10
        )
    few = whole.first(2)
    np.testing.assert_allclose(few.variances(Z).reduction, p.reduction[:, :, :2], rtol=1e-12)


def test_constraints_of_free_active_and_discrete_coordinates(rng):
    post = posterior(SquaredExponential(), rng, d=3, H=1)
    drawn = draw_maximizers(post, 2, rng, num_features=50)
    active = np.array([[[[True, False, False], [False, False, False]]]])
    drawn = replace(drawn, active=active, outward=np.array([[[[-1.0, 0, 0], [0, 0, 0]]]]))
    layout = jet_layout(2)
    c = constrain(drawn, 1, along=np.array([0, 1]))
    # First path: coordinate 0 active, 1 free. Second: 0 and 1 free. Coordinate 2 is discrete and has no derivatives.
    np.testing.assert_array_equal(c.equal[0, 0, 0, layout.gradient], [False, True])
    np.testing.assert_array_equal(c.equal[0, 0, 1, layout.gradient], [True, True])
    np.testing.assert_array_equal(c.equal[0, 0, :, layout.off_diagonal], [[False], [True]])
    assert c.equal_to[0, 0, 1, layout.off_diagonal][0] == drawn.hessian[0, 0, 1, 0, 1]
    np.testing.assert_array_equal(c.imposed[0, 0, 0], [False, True, True, True])
    assert c.combination[0, 0, 0, 1, 1] == -1.0  # at a lower bound the outward derivative is minus the first one
    assert c.combination[0, 0, 0, 2, 4] == -1.0  # the second derivative of the free coordinate must be negative
    np.testing.assert_array_equal(c.combination[0, 0, 0, 3, [0, layout.length]], [1.0, -1.0])
    layout = jet_layout(3)
    paper = constrain(drawn, 0, boundary="paper", best_value=np.array([2.0]), best_noise_variance=np.array([[0.25]]))
    assert paper.equal[..., layout.gradient].all()
    assert paper.imposed.all()
    np.testing.assert_array_equal(paper.target[0, 0, 0], [2.0, 0.0, 0.0, 0.0])
    np.testing.assert_array_equal(paper.noise_variance[0, 0, 0], [0.25, 0.0, 0.0, 0.0])


def test_maximizers_are_those_of_their_paths(rng):
    post = posterior(SquaredExponential(), rng)
    drawn = draw_maximizers(post, 5, rng)
    assert drawn.x.shape == (1, 2, 5, 2)
    np.testing.assert_allclose(drawn.paths(drawn.x[..., None, :])[..., 0], drawn.value, rtol=1e-8)
    assert np.all(drawn.paths(rng.random((500, 2))) <= drawn.value[..., None] + 1e-9)
    bend = drawn.paths.derivatives(drawn.x[..., None, :]).hessian[..., 0, :, :]
    scale = post.hyper.lengthscales[None, :, None, :]
    np.testing.assert_allclose(drawn.hessian, bend * scale[..., :, None] * scale[..., None, :], rtol=1e-10)
    np.testing.assert_array_equal(np.abs(drawn.outward), drawn.active)
