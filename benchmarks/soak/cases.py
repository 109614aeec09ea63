"""Studies drawn from a number: spaces, methods, and functions to optimize."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import xstar
from xstar.acquisition import ES, MES, PES, ESSettings, PESSettings, Thompson
from xstar.entropy import MaximizerSettings
from xstar.gp import MAP, SliceSampling
from xstar.methods import METHODS, Method
from xstar.search import SearchSettings

EXTREME = 290
"""Values may be as small and as large as 10 to the power of this."""
WIDEST_AS_NAMED = 6
"""Columns of a space whose method may be as it comes."""
AS_NAMED = 0.08
"""The share of studies whose method is as it comes; that of others is the same with few samples."""
SEARCH = SearchSettings(
    num_rounds=2, mixed_iterations=10, mixed_rough_iterations=4, max_enumerated=128, max_moves=4, max_alternatives=4,
    num_perturbations=3,
)  # fmt: skip
MAXIMIZERS = MaximizerSettings(num_candidates=64, search=SEARCH)
WIDTHS = (1, 1, 2, 2, 2, 2, 3, 3, 4, 6, 12)
"""How many parameters there are."""


@dataclass(frozen=True)
class Case:
    """One study: what `Optimizer` is given, and what happens to it."""

    space: xstar.Space
    method: str | Method
    settings: dict[str, Any]
    kind: str
    """Of the values."""
    scale: float
    failing: float
    """The share of evaluations that fail."""
    told: int
    """Points that are told before the first is asked for."""
    steps: int

    def optimizer(self) -> xstar.Optimizer:
        """A new one."""
        return xstar.Optimizer(self.space, method=self.method, **self.settings)


def draw(rng: np.random.Generator) -> Case:
    """Draw a study."""
    space = draw_space(rng)
    noise = [None, None, 0.0, 0.1][rng.integers(4)]
    kind = str(rng.choice(["smooth", "smooth", "noisy", "constant", "steps", "outliers"]))
    exponent = int(rng.integers(-EXTREME, EXTREME + 1)) * int(rng.choice([0, 0, 0, 1]))
    settings = {
        "direction": str(rng.choice(["maximize", "minimize"])),
        "seed": int(rng.integers(1000)),
        "noise": noise,
        "num_initial": [None, 1, 3][rng.integers(3)],
    }
    method = draw_method(rng, space.domain.dimension)
    failing = float(rng.choice([0.0, 0.0, 0.2, 0.7, 1.0]))
    told, steps = int(rng.choice([0, 0, 2, 5, 8, 15, 30])), int(rng.integers(5, 40))
    return Case(space, method, settings, kind, 10.0**exponent, failing, told, steps)


def _real(rng: np.random.Generator) -> xstar.Real:
    low = float(rng.normal() * 10.0 ** rng.integers(-6, 7))
    return xstar.Real(low, low + 10.0 ** int(rng.integers(-6, 7)))


def _fixed(rng: np.random.Generator) -> xstar.Real:
    value = float(rng.normal())
    return xstar.Real(value, value)


PARAMETERS: tuple[Callable[[np.random.Generator], Any], ...] = (
    _real,
    _real,
    _fixed,
    lambda rng: xstar.Real(10.0 ** -rng.integers(1, 9), 10.0 ** rng.integers(0, 9), log=True),
    lambda rng: xstar.Real(0.0, float(rng.choice([0.3, 1.0, 7.0])), step=float(rng.choice([0.1, 0.05, 0.5]))),
    lambda rng: xstar.Integer(int(rng.integers(-5, 1)), int(rng.choice([1, 3, 100, 10**6]))),
    lambda rng: xstar.Integer(1, int(rng.choice([4, 1000, 10**9])), log=True),
    lambda rng: xstar.Integer(0, 100, step=int(rng.integers(2, 40))),
    lambda rng: xstar.Categorical([f"choice {k}" for k in range(rng.choice([1, 2, 3, 3, 4, 5, 8, 30]))]),
    lambda _: xstar.Categorical([None, True, 1, "1", 0.5]),
    lambda rng: xstar.Ordinal([16, 32, 64, 128, 1000][: rng.integers(1, 6)]),
)
"""One of each kind that there is."""


def draw_space(rng: np.random.Generator) -> xstar.Space:
    """Draw a space, of few parameters more often than of many."""
    count = int(rng.choice(WIDTHS))
    if rng.random() < 0.1:  # as bounds
        return xstar.Space.of([(0.0, 1.0)] * count)
    return xstar.Space({f"p{k}": PARAMETERS[rng.integers(len(PARAMETERS))](rng) for k in range(count)})


def draw_method(rng: np.random.Generator, dimension: int) -> str | Method:
    """Draw one of the named methods; mostly with few samples."""
    name = str(rng.choice(list(METHODS)))
    if rng.random() < AS_NAMED and dimension <= WIDEST_AS_NAMED:
        return name
    whole = METHODS[name]()
    acquisition = whole.acquisition
    if isinstance(acquisition, PES):
        settings = PESSettings(maximizers=MAXIMIZERS)
        acquisition = replace(acquisition, num_samples=8, num_features=64, num_competitors=3, settings=settings)
    elif isinstance(acquisition, ES):
        acquisition = ES(10, ESSettings(num_candidates=64, num_outcomes=5))
    elif isinstance(acquisition, MES):
        acquisition = MES(5, 64, MAXIMIZERS)
    elif isinstance(acquisition, Thompson):
        acquisition = Thompson(1, 64)
    inference = MAP(num_starts=2, num_prior_draws=16) if rng.random() < 0.5 else SliceSampling(2)
    model = replace(whole.model, num_candidates=64, lookahead=16, search=SEARCH)
    return Method(whole.kernel, inference, acquisition, model, whole.balance)


class Function:
    """What is measured at a point: None for a failure."""

    def __init__(self, case: Case, rng: np.random.Generator) -> None:
        self.case, self.rng = case, rng
        self.center = rng.random(case.space.domain.dimension)

    def __call__(self, params: Any) -> float | None:
        case, rng = self.case, self.rng
        if rng.random() < case.failing:
            return [None, float("nan"), float("inf")][rng.integers(3)]
        row = case.space.encode(case.space.accept(params))
        value = -float(np.sum(np.minimum(np.abs(row - self.center), 10.0) ** 2))
        if case.kind == "constant":
            value = 1.0
        elif case.kind == "steps":
            value = float(np.round(2.0 * value))
        elif case.kind == "noisy":
            value += float(rng.normal())
        elif case.kind == "outliers" and rng.random() < 0.2:
            value *= 10.0 ** float(rng.integers(1, 9))
        return value * case.scale


def legal(space: xstar.Space, rng: np.random.Generator) -> dict[str, Any]:
    """Draw a point of a space."""
    return space.decode(space.domain.snap(rng.random(space.domain.dimension)))


def outside(space: xstar.Space, rng: np.random.Generator) -> dict[str, Any]:
    """Draw a point beyond the bounds of a space where it has some."""
    params = legal(space, rng)
    for name in space.free:
        parameter = space.parameters[name]
        if isinstance(parameter, xstar.Real | xstar.Integer) and rng.random() < 0.5:
            params[name] = parameter.high + (parameter.high - parameter.low)
    return params
