"""Walker: how fast a three-link biped walks, as a function of the eight coefficients of its gait.

Two straight legs with point feet and a torso meet at the hip, where two motors act. The stance leg is a pivot on the
ground; its angle is the clock of the gait. A feedback law drives the other two angles to polynomials of that clock.
When the stance leg reaches an eighth of pi the swing leg strikes the ground, rigidly, and the legs change roles.

| name | meaning | shape |
| --- | --- | --- |
| coefficients | of the torso's cubic p, then of the swing leg's cubic q, constant terms first | (m, 8) |
| angles, rates | of stance leg, swing leg and torso, from the vertical, positive forward | (3, m) |
| theta, omega | angle and rate of the stance leg | (m,) |
| gait | Taylor coefficients of the followers' targets h and of their first two derivatives | (6, 3, 2, m) |
| followers | swing leg and torso, in this order | (2, m) |
| y, dy | outputs: how far the followers are from their targets, and the rate of that | (2, m) |
| state | theta, y, omega, dy | (6, m) |

The targets are h_swing(theta) = -theta + q(theta) (theta^2 - (pi/8)^2) and h_torso(theta) = p(theta), so that on target
both feet are on the ground at the strike. What is not modelled: scuffing, slip, lift-off and torque limits.

Sources: Grizzle, Abba, Plestan, "Asymptotically stable walking for biped robots: analysis via systems with impulse
effects", IEEE Transactions on Automatic Control 46 (2001); Westervelt, Grizzle, Chevallereau, Choi, Morris, "Feedback
control of dynamic bipedal robot locomotion" (2007), chapters 3 and 6; Bhat, Bernstein, "Continuous finite-time
stabilization of the translational and rotational double integrators", the same Transactions 43 (1998).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from experiments.problems.base import Problem, Rows

STEPS = 10
"""Steps of one evaluation."""
TIME_LIMIT = 13.0
"""Seconds within which the steps must be done."""
STRIKE = np.pi / 8
"""Angle of the stance leg at which the swing foot strikes the ground."""
START_RATE = 1.55
"""Rate of the stance leg just before the first strike, rad/s."""
DEFAULT = np.array([0.512, 0.073, 0.035, -0.819, -2.27, 3.26, 3.11, 1.89])
"""Coefficients of the gait of the literature; it lies outside of the problem's box."""

LEG, TORSO = 1.0, 0.5
"""Lengths, m: of a leg, and from the hip to the torso's mass."""
LEG_MASS, HIP_MASS, TORSO_MASS = 5.0, 15.0, 10.0
"""Point masses, kg: amid each leg, at the hip, and on the torso."""
GRAVITY = 9.8

# The constants of the equations of motion (see `full_dynamics`).
STANCE_INERTIA = (1.25 * LEG_MASS + HIP_MASS + TORSO_MASS) * LEG**2
INERTIA = np.array([[0.25 * LEG_MASS * LEG**2], [TORSO_MASS * TORSO**2]])
COUPLING = np.array([[-0.5 * LEG_MASS * LEG**2], [TORSO_MASS * LEG * TORSO]])
WEIGHT = GRAVITY * np.array(
    [[(1.5 * LEG_MASS + HIP_MASS + TORSO_MASS) * LEG], [-0.5 * LEG_MASS * LEG], [TORSO_MASS * TORSO]]
)

# The feedback law (see `feedback`).
ALPHA, EPSILON = 0.9, 0.1

# The pair of Runge-Kutta formulas of Dormand and Prince, orders 5 and 4. The last stage is at the new state.
STAGES = [
    np.array(row)[:, None, None]
    for row in (
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    )
]
DEFECT = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])[:, None, None]
TOLERANCE = 2e-7
"""Of the local error of a Runge-Kutta step, absolute, and relative where the state is above one.

The speed is then within 1e-6 of its limit for small tolerances, and smooth but for jumps of about 1e-8."""
LANDING = 1e-12
"""How close to the strike's angle a step must end to count as being there, rad."""
FIRST_STEP, LEAST_STEP, ATTEMPTS = 5e-3, 1e-9, 6000
"""Time steps: the first after a strike, s; one that is taken for a blow-up, s; the largest number of them."""

MAXIMIZER = np.array([1.0, 0.5086264861747622, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
"""Of the speed over the box: found by `search_maximum`."""
MAXIMUM = 1.4555128441127736


class Walk(NamedTuple):
    """What became of the walkers."""

    steps: NDArray[np.int64]
    """Steps done, (m,); all `STEPS` of them, or the walker has fallen."""
    distance: Rows
    """Way of the hip in the steps done, m, (m,)."""
    time: Rows
    """Duration of the steps done, s, (m,)."""
    rates: Rows
    """Rate of the stance leg just before the strike that ends each step, (STEPS, m); NaN for steps not done."""
    outputs: Rows
    """The larger |y| at that time, (STEPS, m); NaN for steps not done."""


def compile_gait(coefficients: Rows) -> Rows:
    """Taylor coefficients about zero of the followers' targets and of their first two derivatives, (6, 3, 2, m)."""
    torso, swing = coefficients.T[:4], coefficients.T[4:]
    gait = np.zeros((6, 3, 2, len(coefficients)))
    gait[2:, 0, 0] = swing
    gait[:4, 0, 0] -= STRIKE**2 * swing
    gait[1, 0, 0] -= 1.0
    gait[:4, 0, 1] = torso
    power = np.arange(1.0, 6.0)[:, None, None]
    gait[:5, 1] = power * gait[1:, 0]
    gait[:5, 2] = power * gait[1:, 1]
    return gait


def targets(theta: Rows, gait: Rows) -> Rows:
    """The followers' targets and their first two derivatives at a stance angle, (3, 2, m)."""
    # Sums over the leading axis only: each walker's are then made in the same order in every batch.
    powers = np.empty((6, 1, 1, len(theta)))
    powers[0] = 1.0
    powers[1:] = theta
    np.multiply.accumulate(powers, out=powers)
    values: Rows = np.add.reduce(powers * gait)
    return values


def feedback(y: Rows, dy: Rows) -> Rows:
    """The acceleration that brings an output to rest at zero in finite time.

    v = -(s(d, alpha) + s(phi, alpha / (2 - alpha))) / epsilon^2, where s(a, b) = sign(a) |a|^b, d = epsilon y' and
    phi = y + s(d, 2 - alpha) / (2 - alpha).
    """
    d = EPSILON * dy
    size = np.abs(d)
    phi = y + np.copysign(size ** (2 - ALPHA), d) / (2 - ALPHA)
    pull = np.copysign(size**ALPHA, d) + np.copysign(np.abs(phi) ** (ALPHA / (2 - ALPHA)), phi)
    return pull * (-1 / EPSILON**2)


def state_rate(state: Rows, gait: Rows) -> Rows:
    """Time derivative of the state under the feedback law, (6, m).

    The law gives the followers' accelerations as affine in the stance leg's, theta_j'' = h_j' theta'' + b_j with
    b_j = h_j'' omega^2 + v_j. The motors act between the torso and the legs and so cancel in the sum of the three
    equations of motion, which then is one linear equation for theta''.
    """
    theta, omega = state[0], state[3]
    y, dy = state[1:3], state[4:]
    h, dh, ddh = targets(theta, gait)
    v = feedback(y, dy)
    angles = h + y
    rates = dh * omega + dy
    apart = theta - angles
    squared = omega * omega
    b = ddh * squared + v
    pull = COUPLING * np.cos(apart)
    lever = INERTIA + pull
    force = WEIGHT[1:] * np.sin(angles) - lever * b - COUPLING * np.sin(apart) * (rates * rates - squared)
    inertia = pull + lever * dh
    rate = np.empty_like(state)
    rate[:3] = state[3:]
    rate[3] = (WEIGHT[0] * np.sin(theta) + force[0] + force[1]) / (STANCE_INERTIA + inertia[0] + inertia[1])
    rate[4:] = v
    return rate


def full_dynamics(angles: Rows, rates: Rows) -> tuple[Rows, Rows, Rows]:
    """D, f and B of the equations of motion D(angles) angles'' = f(angles, rates) + B u for the two motors' torques u.

    Shapes (m, 3, 3), (m, 3) and (3, 2). They follow from the kinetic energy, with j over the followers,
    I theta'^2 / 2 + sum_j (I_j theta_j'^2 / 2 + K_j cos(theta - theta_j) theta' theta_j'), and from the potential
    energy sum_i W_i cos(theta_i).
    """
    m = angles.shape[1]
    apart = angles[0] - angles[1:]
    cosine, sine = COUPLING * np.cos(apart), COUPLING * np.sin(apart)
    D = np.zeros((m, 3, 3))
    D[:, 0, 0] = STANCE_INERTIA
    D[:, [1, 2], [1, 2]] = INERTIA.T
    D[:, 0, 1:] = D[:, 1:, 0] = cosine.T
    f = WEIGHT * np.sin(angles)
    f[0] -= np.sum(sine * rates[1:] ** 2, axis=0)
    f[1:] += sine * rates[0] ** 2
    return D, f.T, np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]])


def energy(angles: Rows, rates: Rows) -> Rows:
    """Kinetic and potential energy, J, each (m,)."""
    D, _, _ = full_dynamics(angles, rates)
    kinetic = 0.5 * np.einsum("im,mij,jm->m", rates, D, rates)
    return np.stack([kinetic, np.sum(WEIGHT * np.cos(angles), axis=0)])


def masses(angles: Rows) -> tuple[Rows, Rows]:
    """How the point masses and the swing foot move with the three rates and a sliding stance foot.

    Returns the Jacobians (m, 4, 2, 5) of the positions of the stance leg's mass, the hip, the swing leg's mass and the
    torso's mass with respect to the angles and the stance foot, and that (m, 2, 5) of the swing foot's position.
    """
    m = angles.shape[1]
    along = np.stack([np.cos(angles), -np.sin(angles)]).transpose(2, 0, 1)  # d(sin, cos), (m, 2, 3)
    arms = np.array(
        [[LEG / 2, 0.0, 0.0], [LEG, 0.0, 0.0], [LEG, -LEG / 2, 0.0], [LEG, 0.0, TORSO], [LEG, -LEG, 0.0]],
    )
    jacobians = np.zeros((m, 5, 2, 5))
    jacobians[..., :3] = along[:, None] * arms[:, None, :]
    jacobians[..., 3:] = np.eye(2)
    return jacobians[:, :4], jacobians[:, 4]


def strike(angles: Rows, rates: Rows) -> tuple[Rows, Rows]:
    """Angles and rates just after the swing foot has struck the ground, with the legs' roles exchanged.

    The blow F on the swing foot is so large and short that it alone changes the momenta, and it stops the foot: with
    M the inertia of the biped free of the ground and E the swing foot's Jacobian,
    M (new - old) = E' F and E new = 0. The former stance foot leaves the ground without a blow.
    """
    m = angles.shape[1]
    jacobians, foot = masses(angles)
    weights = np.sqrt([LEG_MASS, HIP_MASS, LEG_MASS, TORSO_MASS])[:, None, None]
    moves = (weights * jacobians).reshape(m, 8, 5)
    system = np.zeros((m, 7, 7))
    system[:, :5, :5] = moves.transpose(0, 2, 1) @ moves
    system[:, :5, 5:] = -foot.transpose(0, 2, 1)
    system[:, 5:, :5] = foot
    momentum = np.zeros((m, 7, 1))
    momentum[:, :5] = system[:, :5, :3] @ rates.T[:, :, None]
    new = np.linalg.solve(system, momentum)[:, :3, 0]
    swap = [1, 0, 2]
    return angles[swap], np.ascontiguousarray(new.T[swap])


def to_angles(state: Rows, gait: Rows) -> tuple[Rows, Rows]:
    """Angles and rates (3, m) of a state."""
    h, dh, _ = targets(state[0], gait)
    return np.vstack([state[:1], h + state[1:3]]), np.vstack([state[3:4], dh * state[3] + state[4:]])


def to_state(angles: Rows, rates: Rows, gait: Rows) -> Rows:
    """State (6, m) at angles and rates."""
    h, dh, _ = targets(angles[0], gait)
    return np.vstack([angles[:1], angles[1:] - h, rates[:1], rates[1:] - dh * rates[0]])


def step(state: Rows, slope: Rows, size: Rows, gait: Rows) -> tuple[Rows, Rows, Rows]:
    """One Runge-Kutta step: the new state, the slope there, and the largest local error in units of the tolerance."""
    slopes = np.empty((7, *state.shape))
    slopes[0] = slope
    new = state
    for s, row in enumerate(STAGES, start=1):
        new = state + size * np.add.reduce(row * slopes[:s])
        slopes[s] = state_rate(new, gait)
    scale = TOLERANCE * np.maximum(1.0, np.maximum(np.abs(state), np.abs(new)))
    error = np.maximum.reduce(np.abs(size * np.add.reduce(DEFECT * slopes)) / scale)
    return new, slopes[6], error


def time_to_strike(state: Rows, slope: Rows) -> Rows:
    """When the stance leg would reach the strike's angle if its acceleration were constant; infinite if never, (m,)."""
    gap, omega = STRIKE - state[0], state[3]
    root = omega + np.sqrt(omega * omega + 2.0 * slope[3] * gap)
    return np.where(root > 0.0, 2.0 * gap / root, np.inf)


def next_size(tried: Rows, error: Rows, ahead: Rows, omega: Rows) -> Rows:
    """Length of the next time step after one with this error that ended so far ahead of the strike, (m,).

    The usual rule for a formula of order five, 0.9 error^(-1/5). A step that leads beyond the strike is tried again,
    with its length corrected by Newton's rule; so the strike is met without interpolation.
    """
    factor = np.where(np.isfinite(error), np.clip(0.9 * np.maximum(error, 1e-5) ** -0.2, 0.2, 5.0), 0.2)
    newton = np.maximum(tried - ahead / np.maximum(omega, 1e-3), 0.2 * tried)
    return np.where((error <= 1.0) & (ahead > LANDING), newton, factor * tried)


def start(gait: Rows) -> Rows:
    """State after the strike before the first step, which meets the walkers on target, (6, m)."""
    theta = np.full(gait.shape[-1], STRIKE)
    h, dh, _ = targets(theta, gait)
    return to_state(*strike(np.vstack([theta, h]), START_RATE * np.vstack([np.ones_like(theta), dh])), gait)


def walk(coefficients: Rows) -> Walk:
    """Let walkers (m, 8) take their steps, all at once but each with time steps of its own.

    A walker starts on target, at the strike before its first step. It has fallen when its hip is lower than half a
    leg, when its foot strikes too far behind to carry it, when its time is over, or when its motion cannot be followed:
    then it stays at the steps that it has done.
    """
    m = len(coefficients)
    none = np.full((STEPS, m), np.nan)
    result = Walk(np.zeros(m, np.int64), np.zeros(m), np.zeros(m), none, none.copy())
    with np.errstate(all="ignore"):  # a blow-up is told by what is not finite
        gait = compile_gait(coefficients)
        state = start(gait)
        slope = state_rate(state, gait)
        who = np.arange(m)
        size, clock, origin = np.full(m, FIRST_STEP), np.zeros(m), state[0].copy()
        for _ in range(ATTEMPTS):
            if not len(who):
                break
            tried = np.minimum(size, time_to_strike(state, slope))
            new, new_slope, error = step(state, slope, tried, gait)
            ahead = new[0] - STRIKE
            good = error <= 1.0  # false if it is not a number
            taken = good & (ahead <= LANDING)
            size = next_size(tried, error, ahead, new[3])
            state = np.where(taken, new, state)
            slope = np.where(taken, new_slope, slope)
            clock += np.where(taken, tried, 0.0)
            over = (clock > TIME_LIMIT) | (np.cos(state[0]) < 0.5) | (~good & (size < LEAST_STEP))
            at = np.flatnonzero(taken & (ahead >= -LANDING) & ~over)
            if len(at):
                there, own = np.ascontiguousarray(state[:, at]), np.ascontiguousarray(gait[..., at])
                count = _note(result, who[at], there, origin[at], clock[at])
                after = to_state(*strike(*to_angles(there, own)), own)
                state[:, at], slope[:, at] = after, state_rate(after, own)
                size[at], origin[at] = FIRST_STEP, after[0]
                over[at] = (count == STEPS) | ~(after[0] < STRIKE)
            if over.any():
                on = ~over
                who, size, clock, origin = who[on], size[on], clock[on], origin[on]
                state, slope, gait = state[:, on], slope[:, on], gait[..., on]
    return result


def _note(result: Walk, who: NDArray[np.int64], state: Rows, origin: Rows, clock: Rows) -> NDArray[np.int64]:
    """Enter a step of some walkers in the result; return their numbers of steps."""
    result.rates[result.steps[who], who] = state[3]
    result.outputs[result.steps[who], who] = np.abs(state[1:3]).max(axis=0)
    result.distance[who] += LEG * (np.sin(state[0]) - np.sin(origin))
    result.time[who] = clock
    result.steps[who] += 1
    return result.steps[who]


def speed(coefficients: Rows) -> Rows:
    """Mean speed of the hip over ten steps, m/s, shape (m,); zero for a walker that falls or is not done in 13 s.

    distance / time from the strike before the first step to the strike after the last one. The value of a fall is a
    choice: it makes a cliff of more than half a meter per second at the edge of the region of those who walk.
    """
    coefficients = np.asarray(coefficients, dtype=np.float64)
    if coefficients.ndim != 2 or coefficients.shape[1] != 8:
        raise ValueError(
            f"coefficients have shape {coefficients.shape}; give one row of 8 for each walker, shape (m, 8): "
            "for a single walker coefficients[None, :]."
        )
    if not np.isfinite(coefficients).all():
        raise ValueError(
            f"coefficients of walkers {np.flatnonzero(~np.isfinite(coefficients).all(axis=1)).tolist()} "
            "are not finite; all of them must be numbers, those of the problem in [0, 1]."
        )
    result = walk(coefficients)
    done = result.steps == STEPS
    return np.where(done, result.distance / np.where(done, result.time, 1.0), 0.0)


def walker(noise: float, name: str) -> Problem:
    """The speed of the biped over coefficients in [0, 1], observed with normal noise of this standard deviation."""
    return Problem(name, speed, MAXIMIZER.copy(), MAXIMUM, noise, evaluations=40)


def walker_a() -> Problem:
    """Walker with little noise, 0.01 m/s."""
    return walker(0.01, "walker-a")


def walker_b() -> Problem:
    """Walker with much noise, 0.1 m/s: more than half the standard deviation of the speeds, falls left out."""
    return walker(0.1, "walker-b")


class Found(NamedTuple):
    """Ends of a global search, best first."""

    points: Rows
    """Shape (starts, 8)."""
    values: Rows
    """Shape (starts,)."""


def search_maximum(seed: int, points: int = 8192, starts: int = 100, finest: float = 1e-6) -> Found:
    """Climb from the best of a scrambled Sobol sequence over the box.

    All climb at once by compass search: to the best of the sixteen neighbors at a distance along one coordinate, which
    is halved, from 1/4 to the finest, where none is better. It needs no derivatives; a cliff is just a bad neighbor.
    """
    design = qmc.Sobol(8, rng=np.random.default_rng(seed)).random(points)
    height = np.concatenate([speed(part) for part in np.array_split(design, max(1, points // 1024))])
    best = np.argsort(-height)[:starts]
    x, value, reach = design[best], height[best], np.full(len(best), 0.25)
    compass = np.concatenate([np.eye(8), -np.eye(8)])
    while len(going := np.flatnonzero(reach > finest)):
        around = np.clip(x[going, None] + reach[going, None, None] * compass, 0.0, 1.0)
        heights = speed(around.reshape(-1, 8)).reshape(len(going), 16)
        to = heights.argmax(axis=1)
        higher = heights[np.arange(len(going)), to] > value[going]
        moved = going[higher]
        x[moved], value[moved] = around[higher, to[higher]], heights[higher, to[higher]]
        reach[going[~higher]] /= 2.0
    order = np.argsort(-value)
    return Found(x[order], value[order])


def main() -> None:
    """Search for the maximum and print what was found beside what is stored."""
    for seed in range(2):
        found = search_maximum(seed)
        near = int(np.sum(found.values > MAXIMUM - 1e-6))
        print(f"seed {seed}: {found.values[0]:.12f} at {found.points[0].tolist()}")
        print(f"  within 1e-6 of the stored one: {near} of {len(found.values)} climbs; worst: {found.values[-1]:.9f}")
    print(f"stored: {MAXIMUM:.12f} at {MAXIMIZER.tolist()}")


if __name__ == "__main__":
    main()
