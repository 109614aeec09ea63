import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from xstar.numerics.arrays import to_numpy
from xstar.numerics.ascent import Evaluation, ascend
from xstar.numerics.culling import best_distinct


class Quadratics:
    """f_p(x) = -(x - c_p) A_p (x - c_p) / 2: strictly concave, with the maximum inside or outside the box."""

    def __init__(self, rng, problems, d, spread=1.0):
        root = rng.standard_normal((problems, d, d))
        self.a = root @ np.swapaxes(root, -1, -2) + 0.2 * np.eye(d)
        self.c = 0.5 + spread * (rng.random((problems, d)) - 0.5)
        self.calls = 0

    def host(self, x, problems):
        shift = x - self.c[problems][:, None, :]
        gradient = -np.einsum("pij,pqj->pqi", self.a[problems], shift)
        value = 0.5 * np.sum(shift * gradient, axis=-1)
        hessian = np.broadcast_to(-self.a[problems][:, None], (*value.shape, *self.a.shape[1:]))
        return value, gradient, hessian

    def objective(self, backend, newton):
        def evaluate(x, problems):
            self.calls += 1
            value, gradient, hessian = self.host(to_numpy(x), problems)
            second = backend.array(hessian) if newton else None
            return Evaluation(backend.array(value), backend.array(gradient), second)

        return evaluate


def box(backend, d):
    return backend.array(np.zeros(d)), backend.array(np.ones(d))


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_concave_quadratics_reach_the_constrained_maximum(backend, rng, d, newton):
    quadratics = Quadratics(rng, 12, d, spread=3.0)
    starts = rng.random((12, 3, d))
    found = ascend(quadratics.objective(backend, newton), backend.array(starts), *box(backend, d))
    x, value = backend.numpy(found.x), backend.numpy(found.value)
    assert backend.numpy(found.converged).all()
    for p in range(12):

        def negative(z, p=p):
            v, g, _ = quadratics.host(z[None, None], np.array([p]))
            return -v[0, 0], -g[0, 0]

        reference = minimize(
            negative, np.full(d, 0.5), jac=True, method="L-BFGS-B", bounds=[(0, 1)] * d, tol=1e-15
        )  # fmt: skip
        np.testing.assert_allclose(value[p], -reference.fun, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(x[p], np.broadcast_to(reference.x, (3, d)), atol=1e-4)


@pytest.mark.parametrize("newton", [True, False])
def test_active_bounds_satisfy_the_first_order_conditions(backend, rng, newton):
    quadratics = Quadratics(rng, 30, 3, spread=4.0)
    found = ascend(quadratics.objective(backend, newton), backend.array(rng.random((30, 2, 3))), *box(backend, 3))
    x, gradient, active = (backend.numpy(part) for part in (found.x, found.gradient, found.active))
    assert active.any()
    assert not active.all()
    np.testing.assert_array_equal(x[active], (gradient[active] > 0.0).astype(float))
    assert np.abs(gradient[~active]).max() < 1e-5


@pytest.mark.parametrize("newton", [True, False])
def test_a_curved_valley(backend, newton):
    """Rosenbrock's function on [0, 1]^2, maximum at the corner (1, 1), from the far corner."""

    def evaluate(x, problems):
        a, b = to_numpy(x)[..., 0], to_numpy(x)[..., 1]
        value = -(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2)
        gradient = np.stack([400.0 * a * (b - a * a) + 2.0 * (1.0 - a), -200.0 * (b - a * a)], axis=-1)
        cross = 400.0 * a
        hessian = np.stack([400.0 * b - 1200.0 * a * a - 2.0, cross, cross, np.full_like(a, -200.0)], axis=-1)
        second = backend.array(hessian.reshape(*a.shape, 2, 2)) if newton else None
        return Evaluation(backend.array(value), backend.array(gradient), second)

    found = ascend(evaluate, backend.array(np.zeros((1, 1, 2))), *box(backend, 2))
    np.testing.assert_allclose(backend.numpy(found.x)[0, 0], [1.0, 1.0], atol=1e-5)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_scale_of_the_function_does_not_matter(rng, scale):
    quadratics = Quadratics(rng, 5, 3, spread=2.0)

    def evaluate(x, problems):
        return Evaluation(*(scale * part for part in quadratics.host(x, problems)[:2]))

    starts = rng.random((5, 2, 3))
    found = ascend(evaluate, starts, np.zeros(3), np.ones(3))
    reference = ascend(lambda x, p: Evaluation(*quadratics.host(x, p)), starts, np.zeros(3), np.ones(3))
    assert found.converged.all()
    np.testing.assert_allclose(found.x, reference.x, atol=1e-5)


def test_a_saddle_is_left(backend):
    """f = y^2 - x^2 about the middle of the box: from a point next to the saddle, a face y = 0 or 1 must be reached."""

    def evaluate(x, problems):
        z = to_numpy(x) - 0.5
        sign = np.array([-1.0, 1.0])
        hessian = np.broadcast_to(np.diag(2.0 * sign), (*z.shape, 2))
        return Evaluation(
            backend.array(np.sum(sign * z * z, axis=-1)), backend.array(2.0 * sign * z), backend.array(hessian)
        )

    found = ascend(evaluate, backend.array([[[0.7, 0.5 + 1e-6]]]), *box(backend, 2))
    np.testing.assert_allclose(backend.numpy(found.x)[0, 0], [0.5, 1.0], atol=1e-8)
    np.testing.assert_array_equal(backend.numpy(found.active)[0, 0], [False, True])


@pytest.mark.parametrize("newton, d", [(True, 12), (False, 12), (False, 20)])
def test_many_constrained_quadratics(rng, newton, d):
    """Badly conditioned, most maxima on faces: every climb must end converged, with no slope left inside the box.

    Newton alone would stop where the box holds several coordinates back; BFGS alone would wander in the rounding.
    """
    quadratics = Quadratics(rng, 100, d, spread=3.0)

    def evaluate(x, problems):
        return Evaluation(*quadratics.host(x, problems)[: 3 if newton else 2])

    found = ascend(evaluate, rng.random((100, 1, d)), np.zeros(d), np.ones(d), max_iterations=200)
    assert found.converged.all()
    assert np.abs(np.where(found.active, 0.0, found.gradient)).max() < 1e-4


@pytest.mark.parametrize("newton", [True, False])
def test_a_linear_function_is_climbed_to_its_corner_without_warning(backend, newton):
    slope = np.array([1.0, -3.0, 0.5])

    def evaluate(x, problems):
        z = to_numpy(x)
        hessian = backend.array(np.zeros((*z.shape, 3))) if newton else None
        return Evaluation(backend.array(z @ slope), backend.array(np.broadcast_to(slope, z.shape)), hessian)

    found = ascend(evaluate, backend.array([[[0.4, 0.5, 0.6]]]), *box(backend, 3))
    np.testing.assert_array_equal(backend.numpy(found.x)[0, 0], [1.0, 0.0, 1.0])
    assert backend.numpy(found.converged).all()


def test_a_constant_function_is_finished_at_once(backend):
    def evaluate(x, problems):
        zero = backend.xp.zeros_like(x)
        return Evaluation(zero[..., 0], zero)

    starts = backend.array(np.full((2, 2, 3), 0.3))
    found = ascend(evaluate, starts, *box(backend, 3))
    assert backend.numpy(found.converged).all()
    assert backend.numpy(found.iterations).max() <= 1
    np.testing.assert_array_equal(backend.numpy(found.x), 0.3)


def test_starts_without_a_finite_value_stay_and_do_not_disturb_the_others(backend, rng):
    quadratics = Quadratics(rng, 2, 2, spread=0.5)

    def evaluate(x, problems):
        value, gradient, hessian = quadratics.host(to_numpy(x), problems)
        bad = to_numpy(x)[..., 0] > 0.95
        value = np.where(bad, np.nan, value)
        return Evaluation(backend.array(value), backend.array(gradient), backend.array(hessian))

    starts = rng.random((2, 3, 2)) * 0.9
    starts[0, 1, 0] = 0.99
    found = ascend(evaluate, backend.array(starts), *box(backend, 2))
    converged = backend.numpy(found.converged)
    assert not converged[0, 1]
    assert converged.sum() == 5
    np.testing.assert_allclose(backend.numpy(found.x)[1], np.broadcast_to(quadratics.c[1], (3, 2)), atol=1e-6)


def test_starts_outside_the_box_are_brought_inside(rng):
    quadratics = Quadratics(rng, 1, 2, spread=0.5)
    found = ascend(lambda x, p: Evaluation(*quadratics.host(x, p)), np.array([[[-3.0, 7.0]]]), np.zeros(2), np.ones(2))
    np.testing.assert_allclose(found.x[0, 0], quadratics.c[0], atol=1e-6)


def test_packing_changes_nothing(rng):
    """Problems that take long, beside problems that are done at once, end as they would alone."""
    d = 3
    quadratics = Quadratics(rng, 6, d, spread=2.0)
    starts = rng.random((6, 4, d))
    starts[:3] = np.clip(quadratics.c[:3], 0, 1)[:, None, :]  # half of the problems start at or near the maximum

    def evaluate(x, problems):
        value, gradient, _ = quadratics.host(x, problems)
        return Evaluation(value, gradient)

    together = ascend(evaluate, starts, np.zeros(d), np.ones(d))
    for p in range(6):
        alone = ascend(lambda x, _, p=p: evaluate(x, np.array([p])), starts[p : p + 1], np.zeros(d), np.ones(d))
        np.testing.assert_allclose(together.x[p], alone.x[0], atol=1e-12)
        np.testing.assert_array_equal(together.iterations[p], alone.iterations[0])


def test_culled_starts_stop_and_are_not_converged(rng):
    quadratics = Quadratics(rng, 2, 6, spread=2.0)

    def cull(x, value):
        mask = np.zeros(value.shape, dtype=bool)
        mask[:, 0] = True
        return mask

    found = ascend(
        lambda x, p: Evaluation(*quadratics.host(x, p)[:2]), rng.random((2, 3, 6)), np.zeros(6), np.ones(6),
        cull=cull, cull_after=2,
    )  # fmt: skip
    assert found.converged[:, 0].all()
    assert not found.converged[:, 1:].any()
    assert found.iterations[:, 1:].max() <= 2


def test_only_the_best_of_each_hill_goes_on(backend):
    x = backend.array([[[0.1], [0.101], [0.5], [0.9], [0.501], [0.3]]])
    value = backend.array([[1.0, 1.1, 3.0, 2.0, 2.9, 0.0]])
    np.testing.assert_array_equal(best_distinct(2, 0.01)(x, value)[0], [False, False, True, True, False, False])
    np.testing.assert_array_equal(best_distinct(3, 0.01)(x, value)[0], [False, True, True, True, False, False])


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans())
def test_a_climb_never_ends_lower_or_outside(seed, d, newton):
    """On random trigonometric functions, whatever their curvature."""
    rng = np.random.default_rng(seed)
    w, b, theta = 8.0 * rng.standard_normal((20, d)), 7.0 * rng.random(20), rng.standard_normal(20)

    def evaluate(x, problems):
        angle = x @ w.T + b
        hessian = -np.einsum("pqk,ki,kj->pqij", theta * np.cos(angle), w, w)
        return Evaluation(np.cos(angle) @ theta, -(np.sin(angle) * theta) @ w, hessian if newton else None)

    starts = rng.random((1, 4, d))
    found = ascend(evaluate, starts, np.zeros(d), np.ones(d))
    assert np.all((found.x >= 0.0) & (found.x <= 1.0))
    assert np.all(found.value >= evaluate(starts, None).value - 1e-9)
    np.testing.assert_allclose(found.value, evaluate(found.x, None).value, atol=1e-9)
    slope = np.where(found.active, 0.0, found.gradient)[found.converged]
    assert np.abs(slope).max(initial=0.0) < 1e-2
