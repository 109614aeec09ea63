"""The biped obeys mechanics, walks as published, and its stored maximum is one."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import qmc

from experiments.problems import walker
from experiments.problems.walker import DEFAULT, LEG, MAXIMIZER, MAXIMUM, STEPS, STRIKE, TIME_LIMIT

ROWS = np.random.default_rng(1).random((60, 8))
"""Walkers of the box; some of them fall."""


@pytest.fixture
def motion():
    """Random coefficients, angles and rates."""
    rng = np.random.default_rng(1)
    return rng.uniform(-1.0, 1.0, (200, 8)), rng.uniform(-1.0, 1.0, (3, 200)), 2.0 * rng.standard_normal((3, 200))


def test_free_motion_conserves_energy():
    def free(_, motion):
        D, f, _ = walker.full_dynamics(motion[:3, None], motion[3:, None])
        return np.concatenate([motion[3:], np.linalg.solve(D[0], f[0])])

    begin = np.array([-0.3, 0.2, 0.1, 1.0, -0.7, 0.4])
    end = solve_ivp(free, (0.0, 2.0), begin, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    before, after = (walker.energy(part[:3, None], part[3:, None]) for part in (begin, end))
    assert abs(after - before).max() > 1.0, "one kind became the other"
    np.testing.assert_allclose(after.sum(), before.sum(), rtol=1e-9)


def test_the_law_of_motion_is_the_gradient_of_the_energies(motion):
    # d/dt dT/d(rates) - dT/d(angles) + dV/d(angles) = 0 by difference quotients of `energy` along free motion.
    _, angles, rates = motion
    D, f, _ = walker.full_dynamics(angles, rates)
    step = 1e-5
    momentum_rate = np.einsum("mij,mj->im", D, np.linalg.solve(D, f[..., None])[..., 0])
    ahead, behind = (walker.full_dynamics(angles + s * step * rates, rates)[0] for s in (1.0, -1.0))
    momentum_rate += np.einsum("mij,jm->im", (ahead - behind) / (2.0 * step), rates)
    for i, unit in enumerate(np.eye(3)[:, :, None]):
        up, down = (walker.energy(angles + s * step * unit, rates) for s in (1.0, -1.0))
        kinetic, potential = (up - down) / (2.0 * step)
        np.testing.assert_allclose(momentum_rate[i], kinetic - potential, atol=1e-5)


def test_the_masses_move_with_the_kinetic_energy(motion):
    # Two ways to the inertia: the point masses' velocities, and the formula of the equations of motion.
    _, angles, rates = motion
    jacobians, _ = walker.masses(angles)
    velocity = np.einsum("mpic,cm->pim", jacobians[..., :3], rates)
    masses = np.array([walker.LEG_MASS, walker.HIP_MASS, walker.LEG_MASS, walker.TORSO_MASS])
    kinetic = 0.5 * np.einsum("p,pim->m", masses, velocity**2)
    np.testing.assert_allclose(walker.energy(angles, rates)[0], kinetic, rtol=1e-12)


def test_the_torque_free_sum_gives_the_accelerations_of_the_full_equations(motion):
    coefficients, angles, rates = motion
    gait = walker.compile_gait(coefficients)
    state = walker.to_state(angles, rates, gait)
    for there, back in zip(walker.to_angles(state, gait), (angles, rates), strict=True):
        np.testing.assert_allclose(there, back, atol=1e-13)
    _, dh, ddh = walker.targets(angles[0], gait)
    v = walker.feedback(state[1:3], state[4:])
    D, f, B = walker.full_dynamics(angles, rates)
    # Unknown are three accelerations and two torques.
    system, right = np.zeros((200, 5, 5)), np.empty((200, 5))
    system[:, :3, :3], system[:, :3, 3:] = D, -B
    system[:, [3, 4], [1, 2]], system[:, 3:, 0] = 1.0, -dh.T
    right[:, :3], right[:, 3:] = f, (ddh * rates[0] ** 2 + v).T
    expected = np.linalg.solve(system, right[..., None])[:, 0, 0]
    rate = walker.state_rate(state, gait)
    np.testing.assert_allclose(rate[3], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(rate[:3], state[3:])
    np.testing.assert_array_equal(rate[4:], v)


def test_targets_are_the_polynomials_and_their_derivatives():
    theta = np.linspace(-0.5, STRIKE, 60)
    h, dh, ddh = walker.targets(theta, walker.compile_gait(ROWS))
    swing = [np.polynomial.Polynomial(row[4:]) * [-(STRIKE**2), 0.0, 1.0] - [0.0, 1.0] for row in ROWS]
    torso = [np.polynomial.Polynomial(row[:4]) for row in ROWS]
    for follower, polynomials in enumerate((swing, torso)):
        for order, values in enumerate((h, dh, ddh)):
            expected = [p.deriv(order)(t) for p, t in zip(polynomials, theta, strict=True)]
            np.testing.assert_allclose(values[follower], expected, atol=1e-12)


def test_a_strike_stops_the_foot_and_keeps_the_momentum_about_it(motion):
    _, angles, rates = motion
    after, new = walker.strike(angles, rates)
    np.testing.assert_array_equal(after, angles[[1, 0, 2]])
    assert np.all(walker.energy(after, new)[0] <= walker.energy(angles, rates)[0] + 1e-12)

    def points(angles, rates):
        """Positions and velocities (4, 2, m) of the masses, and of the swing foot; the stance foot rests at zero."""
        along = np.stack([np.sin(angles), np.cos(angles)])
        across = np.stack([np.cos(angles), -np.sin(angles)]) * rates
        arms = np.array([[LEG / 2, 0, 0], [LEG, 0, 0], [LEG, -LEG / 2, 0], [LEG, 0, walker.TORSO], [LEG, -LEG, 0]])
        places, velocities = (np.einsum("pk,ikm->pim", arms, part) for part in (along, across))
        return places[:4], velocities[:4], places[4]

    def momentum(place, velocity, about, which):
        masses = np.array([walker.LEG_MASS, walker.HIP_MASS, walker.LEG_MASS, walker.TORSO_MASS])[:, None]
        x, y = (place - about)[which].transpose(1, 0, 2)
        return np.sum(masses[which] * (x * velocity[which, 1] - y * velocity[which, 0]), axis=0)

    place, velocity, foot = points(angles, rates)
    new_place, new_velocity, _ = points(after, new)
    everything = [0, 1, 2, 3]
    # The blow acts at the foot: about it, the whole keeps its angular momentum; so does each part about the hip that
    # the blow reaches only through the hip, the torso and the former stance leg, which becomes the swing leg.
    before_, after_ = momentum(place, velocity, foot, everything), momentum(new_place, new_velocity, 0.0, everything)
    np.testing.assert_allclose(after_, before_, rtol=1e-9, atol=1e-9)
    for old, now in (([3], [3]), ([0], [2])):
        before_ = momentum(place, velocity, place[1], old)
        after_ = momentum(new_place, new_velocity, new_place[1], now)
        np.testing.assert_allclose(after_, before_, rtol=1e-9, atol=1e-9)


def test_the_feedback_brings_outputs_to_rest():
    def law(_, y):
        return np.concatenate([y[2:], walker.feedback(y[:2, None], y[2:, None])[:, 0]])

    end = solve_ivp(law, (0.0, 1.5), [0.3, -0.1, -2.0, 4.0], rtol=1e-9, atol=1e-12).y[:, -1]
    assert np.abs(end).max() < 1e-9


def test_the_default_gait_walks_as_published():
    walk = walker.walk(DEFAULT[None])
    assert walk.steps[0] == STEPS
    np.testing.assert_allclose(walk.distance / walk.time, 0.6825, atol=1e-3)
    np.testing.assert_allclose(walk.distance, STEPS * 2.0 * LEG * np.sin(STRIKE), rtol=1e-9)
    np.testing.assert_allclose(walk.rates[:, 0], 1.55, atol=1e-3)
    assert walk.outputs.max() < 1e-9, "each step ends on target"
    np.testing.assert_array_equal(walker.speed(DEFAULT[None]), walk.distance / walk.time)


def test_an_independent_integrator_agrees():
    rows = np.vstack([DEFAULT, MAXIMIZER, ROWS[0]])
    expected = []
    for row in rows:
        gait = walker.compile_gait(row[None])

        def law(_, state, gait=gait):
            return walker.state_rate(state[:, None], gait)[:, 0]

        def strikes(_, state):
            return state[0] - STRIKE

        strikes.terminal, strikes.direction = True, 1.0
        state, distance, time = walker.start(gait), 0.0, 0.0
        for _ in range(STEPS):
            leg = solve_ivp(law, (0.0, 5.0), state[:, 0], events=strikes, rtol=1e-8, atol=1e-8)
            time += leg.t[-1]
            distance += LEG * (np.sin(leg.y[0, -1]) - np.sin(leg.y[0, 0]))
            state = walker.to_state(*walker.strike(*walker.to_angles(leg.y[:, -1:], gait)), gait)
        expected.append(distance / time)
    np.testing.assert_allclose(walker.speed(rows), expected, atol=2e-6)


def test_a_fall_has_no_speed():
    walk, speed = walker.walk(ROWS), walker.speed(ROWS)
    fell = walk.steps < STEPS
    assert 0 < fell.sum() < 10
    assert np.all(speed[fell] == 0.0)
    assert np.all(speed[~fell] > walk.distance[~fell] / TIME_LIMIT)
    np.testing.assert_array_equal(np.isfinite(walk.rates).sum(axis=0), walk.steps)
    hopeless = np.stack([np.zeros(8), np.full(8, 1e5), np.full(8, 1e300)])
    np.testing.assert_array_equal(walker.speed(hopeless), 0.0)


def test_a_walker_does_not_depend_on_the_others():
    together = walker.speed(ROWS)
    np.testing.assert_allclose(walker.speed(ROWS[::-1])[::-1], together, rtol=0.0, atol=1e-12)
    for i in (0, 7, 31):
        np.testing.assert_allclose(walker.speed(ROWS[i : i + 1]), together[i], rtol=0.0, atol=1e-12)
    assert walker.speed(np.empty((0, 8))).shape == (0,)


def test_the_speed_is_smooth_at_the_level_of_its_accuracy():
    offset = np.linspace(-1.0, 1.0, 41)
    rows = 0.4 + 1e-4 * offset[:, None] * np.random.default_rng(2).standard_normal(8)
    speed = walker.speed(rows)
    assert np.ptp(speed) > 1e-5
    assert np.std(speed - np.polyval(np.polyfit(offset, speed, 3), offset)) < 1e-7


def test_the_maximum_is_one():
    np.testing.assert_allclose(walker.speed(MAXIMIZER[None]), MAXIMUM, rtol=0.0, atol=1e-9)
    rng = np.random.default_rng(3)
    scale = 10.0 ** rng.uniform(-6.0, -0.5, (400, 1))
    around = np.clip(MAXIMIZER + scale * rng.standard_normal((400, 8)), 0.0, 1.0)
    design = qmc.Sobol(8, rng=rng).random(1024)
    assert walker.speed(around).max() < MAXIMUM + 1e-6
    assert walker.speed(design).max() < MAXIMUM - 0.02


@pytest.mark.slow
def test_a_short_search_finds_the_maximum():
    found = walker.search_maximum(4, points=64, starts=2, finest=0.02)
    assert found.points.shape == (2, 8)
    np.testing.assert_allclose(found.values, MAXIMUM, atol=1e-3)
    np.testing.assert_allclose(found.points[0], MAXIMIZER, atol=0.05)


@pytest.mark.parametrize(
    "problem, name, noise", [(walker.walker_a(), "walker-a", 0.01), (walker.walker_b(), "walker-b", 0.1)]
)
def test_the_problems(problem, name, noise):
    assert (problem.name, problem.noise, problem.evaluations, problem.dimension) == (name, noise, 40, 8)
    assert problem.regret(problem.maximizer[None])[0] < 1e-9
    assert problem.regret(np.zeros((1, 8))) == MAXIMUM


@pytest.mark.parametrize("rows", [DEFAULT, np.zeros((2, 7)), np.zeros((1, 2, 8))])
def test_coefficients_come_as_rows_of_eight(rows):
    with pytest.raises(ValueError, match=r"shape \(m, 8\)"):
        walker.speed(rows)


def test_coefficients_are_numbers():
    rows = ROWS[:3].copy()
    rows[1, 4] = np.nan
    with pytest.raises(ValueError, match=r"walkers \[1\] are not finite"):
        walker.speed(rows)
