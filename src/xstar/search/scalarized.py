"""Functions of several outputs as one: by how much the objectives exceed a reference, less what constraints lack.

    min_j (f_j(x) - r_j) / u_j                                                a smooth minimum
    - sum_k (max(0, lambda_k - rho s_k)^2 - lambda_k^2) / (2 rho),            s_k = c_k(x) - b_k

The first part is an achievement function: it increases in every objective, so its maximizers are on the Pareto front,
whatever the reference r and the units u; of one objective it is the objective itself. The second is the augmented
Lagrangian of the constraints, whose multipliers are updated between local searches until they hold.

Notation
    P    functions of each output       Q    references of each, so that there are P Q problems
    J    objectives                     C    constraints
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from xstar.numerics.arrays import Array, HostArray, move, namespace, scatter_rows, take_rows, to_numpy, zeros
from xstar.numerics.ascent import Evaluation, ascend
from xstar.search.box import Maxima, Objective
from xstar.search.mixed import MixedSearch
from xstar.search.region import Region
from xstar.search.settings import SearchSettings

SHARPNESS = 20.0
"""Of the smooth minimum, in units of the objectives' ranges."""
STIFFNESS = 100.0
"""rho, of the search for the right hill."""
STIFFER = (1e3, 1e4, 1e4)
"""And of the local searches after it, each with the multipliers that the one before has left."""
FEW_ITERATIONS = 30
"""Of each of these: they begin close to where they end."""
STIFFEST = 1e4
"""Where some coordinates are discrete, multipliers do not help: constraints then hold as well as this makes them."""


@dataclass(frozen=True)
class Screened:
    """Values of all outputs at the points of a design, computed once."""

    points: HostArray
    """Shape (N, d)."""
    values: tuple[Array, ...]
    """Of the objectives, then of the constraints, shape (P, N) each."""


@dataclass(frozen=True)
class Scalarized:
    """An `Objective` of P Q functions.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential, draw_paths
    >>> from xstar.search import Scalarized
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.1), [[0.2], [0.7]], [0.0, 1.0])
    >>> value, purity = (draw_paths(post, 5, np.random.default_rng(seed)) for seed in (0, 1))
    >>> Scalarized((value,), (purity,), (0.0,)).num_problems
    5
    """

    objectives: tuple[Objective, ...]
    """Maybe none: then the constraints are to be violated least."""
    constraints: tuple[Objective, ...] = ()
    bounds: tuple[float, ...] = ()
    reference: Array | None = None
    """r, shape (P, Q, J); by default one of zeros."""
    unit: Array | None = None
    """u, shape (P, 1, J); by default ones."""
    multipliers: Array | None = None
    """lambda, shape (P Q, C); by default zeros."""
    stiffness: float = STIFFNESS
    screened: Screened | None = None

    @property
    def outputs(self) -> tuple[Objective, ...]:
        """Objectives, then constraints."""
        return self.objectives + self.constraints

    @property
    def num_references(self) -> int:
        """Q."""
        return 1 if self.reference is None else int(self.reference.shape[1])

    @property
    def num_problems(self) -> int:
        """P Q."""
        return self.outputs[0].num_problems * self.num_references

    @property
    def dimension(self) -> int:
        """d."""
        return self.outputs[0].dimension

    def screen(self, X: HostArray, /) -> Array:
        """Return rough values at host points (N, d), shape (P Q, N)."""
        known = self.screened
        if known is not None and np.array_equal(known.points, X):
            each = known.values
        else:
            each = tuple(output.screen(X) for output in self.outputs)
        xp, Q = namespace(each[0]), self.num_references
        P, N = each[0].shape
        repeated = [xp.reshape(xp.broadcast_to(part[:, None, :], (P, Q, N)), (P * Q, N)) for part in each]
        return self._value(repeated, np.arange(P * Q))

    def value(self, x: Array, problems: HostArray, /) -> Array:
        """Return values (P', q) of some problems at their own points (P', q, d)."""
        return self._value([self._at(output.value, x, problems) for output in self.outputs], problems)

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Return value, gradient and Hessian of some problems (P',) at their own points (P', q, d)."""
        return self._combine([self._evaluated(output.evaluate, x, problems) for output in self.outputs], problems)

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        """Evaluate likewise, as cheaply as tells good hills from bad ones."""
        return self._combine(
            [self._evaluated(output.evaluate_roughly, x, problems) for output in self.outputs], problems
        )

    def slack(self, x: Array) -> Array:
        """Return by how much each problem's own point (P Q, d) exceeds the bounds, shape (P Q, C)."""
        everything = np.arange(self.num_problems)
        values = (self._at(constraint.value, x[:, None, :], everything)[:, 0] for constraint in self.constraints)
        parts = [value - bound for value, bound in zip(values, self.bounds, strict=True)]
        return namespace(x).stack(parts, axis=-1) if parts else zeros((len(everything), 0), x)

    def _at(self, function: Callable[[Array, HostArray], Any], x: Array, problems: HostArray) -> Any:
        """Call a function of an output's P functions for problems at their own points (P', q, d)."""
        xp, Q, P = namespace(x), self.num_references, self.outputs[0].num_problems
        q, d = x.shape[-2:]
        if P == 1 or (Q > 1 and len(problems) == P * Q):
            # Problems of one function are more points of it.
            found = function(xp.reshape(x, (P, -1, d)), np.arange(P))
            return found if isinstance(found, Evaluation) else xp.reshape(found, (len(problems), q))
        return function(x, problems // Q)

    def _evaluated(
        self, function: Callable[[Array, HostArray], Evaluation], x: Array, problems: HostArray
    ) -> Evaluation:
        found = self._at(function, x, problems)
        xp, shape = namespace(x), (len(problems), x.shape[1])
        d = x.shape[-1]
        value, gradient = xp.reshape(found.value, shape), xp.reshape(found.gradient, (*shape, d))
        hessian = None if found.hessian is None else xp.reshape(found.hessian, (*shape, d, d))
        return Evaluation(value, gradient, hessian)

    def _value(self, each: list[Array], problems: HostArray) -> Array:
        J = len(self.objectives)
        value = self._achieved(each[:J], problems)[0] if J else 0.0
        for k, constraint in enumerate(each[J:]):
            pressure, multiplier = self._pressure(constraint, k, problems)
            value = value - (pressure * pressure - multiplier * multiplier) / (2.0 * self.stiffness)
        return value

    def _combine(self, each: list[Evaluation], problems: HostArray) -> Evaluation:
        J = len(self.objectives)
        xp = namespace(each[0].value)
        value = self._value([part.value for part in each], problems)
        gradient, hessian = xp.zeros_like(each[0].gradient), None
        curved = all(part.hessian is not None for part in each)
        if curved:
            hessian = xp.zeros_like(each[0].hessian)
        if J:
            _, shares = self._achieved([part.value for part in each[:J]], problems)
            for part, share in zip(each[:J], shares, strict=True):
                gradient = gradient + share[..., None] * part.gradient
            if curved:
                steps = [part.gradient / self._units(problems, j, value)[..., None] for j, part in enumerate(each[:J])]
                for j, (part, share) in enumerate(zip(each[:J], shares, strict=True)):
                    hessian = hessian + share[..., None, None] * part.hessian
                    if J > 1:
                        weight = SHARPNESS * share * self._units(problems, j, value)
                        away = steps[j] - gradient
                        hessian = hessian - weight[..., None, None] * away[..., :, None] * away[..., None, :]
        for k, part in enumerate(each[J:]):
            pressure, _ = self._pressure(part.value, k, problems)
            gradient = gradient + pressure[..., None] * part.gradient
            if curved:
                bend = part.gradient[..., :, None] * part.gradient[..., None, :]
                hessian = hessian + pressure[..., None, None] * part.hessian
                hessian = hessian - self.stiffness * xp.where(pressure > 0.0, 1.0, 0.0)[..., None, None] * bend
        return Evaluation(value, gradient, hessian)

    def _achieved(self, each: list[Array], problems: HostArray) -> tuple[Array, list[Array]]:
        """The smooth minimum (P', q), and its derivatives in the objectives."""
        if len(each) == 1 and self.reference is None:
            return each[0], [namespace(each[0]).ones_like(each[0])]
        xp = namespace(each[0])
        t = xp.stack([
            (value - self._references(problems, j, value)) / self._units(problems, j, value)
            for j, value in enumerate(each)
        ])  # fmt: skip
        least = xp.min(t, axis=0)
        weights = xp.exp(-SHARPNESS * (t - least))
        total = xp.sum(weights, axis=0)
        shares = [weights[j, ...] / total / self._units(problems, j, total) for j in range(len(each))]
        return least - xp.log(total) / SHARPNESS, shares

    def _pressure(self, value: Array, k: int, problems: HostArray) -> tuple[Array, Array]:
        """max(0, lambda - rho s) of constraint k, and lambda."""
        xp = namespace(value)
        none = xp.zeros_like(value[:, :1])
        multiplier = none if self.multipliers is None else self.multipliers[move(problems, value), k][:, None]
        return xp.clip(multiplier - self.stiffness * (value - self.bounds[k]), min=0.0), multiplier

    def _units(self, problems: HostArray, j: int, like: Array) -> Array:
        if self.unit is None:
            return zeros((len(problems), 1), like) + 1.0
        return self.unit[move(problems // self.num_references, like), 0, j][:, None]

    def _references(self, problems: HostArray, j: int, like: Array) -> Array:
        if self.reference is None:
            return zeros((len(problems), 1), like)
        Q = self.num_references
        return self.reference[move(problems // Q, like), move(problems % Q, like), j][:, None]


def maximize_scalarized(
    functions: Scalarized, region: Region, candidates: Array, settings: SearchSettings, num_starts: int | None = None
) -> tuple[Maxima, Array]:
    """Return the maxima of all problems in a region, and the multipliers (P Q, C) of their constraints.

    On a continuous domain constraints hold up to rounding where they can.
    """
    domain, restriction = region
    if not domain.continuous:
        functions = replace(functions, stiffness=STIFFEST)

    def restricted() -> Objective:
        return functions if restriction is None else restriction.restrict(functions)

    found = MixedSearch(domain, num_starts=num_starts, settings=settings).maximize(restricted(), candidates)
    x, xp = found.x, namespace(found.x)
    multipliers = xp.clip(-functions.stiffness * functions.slack(x), min=0.0)
    lower = zeros((functions.dimension,), x)
    for stiffness in STIFFER if domain.continuous else ():
        some = np.flatnonzero(to_numpy(xp.any(multipliers > 0.0, axis=-1)))
        if not some.size:
            break
        functions = replace(functions, multipliers=multipliers, stiffness=stiffness)
        there = ascend(
            partial(_of_some, restricted(), some), take_rows(x, some)[:, None, :], lower, lower + 1.0,
            radius=settings.finish_radius, max_iterations=FEW_ITERATIONS,
        )  # fmt: skip
        found = Maxima(
            *(scatter_rows(part, some, getattr(there, name)[:, 0, ...]) for name, part in found._asdict().items())
        )
        x = found.x
        multipliers = xp.clip(multipliers - stiffness * functions.slack(x), min=0.0)
    return found, multipliers


def _of_some(objective: Objective, some: HostArray, x: Array, rows: HostArray) -> Evaluation:
    """Evaluate those of some problems, by their positions among these."""
    return objective.evaluate(x, some[rows])
