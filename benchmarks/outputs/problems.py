"""Problems with several outputs: objectives, and constraints on others.

    X          points of the unit cube, which is what methods see    (n, d)
    U          the same in the units of the problem                  (n, d)
    values     of an output                                          (n,)
    losses     objectives, all to be minimized                       (n, m)
    feasible   whether all constraints are met                       (n,)

[GKX14]   Gardner, Kusner, Xu, Weinberger & Cunningham, Bayesian Optimization with Inequality Constraints, ICML 2014
[GGL16]   Gramacy, Gray, Le Digabel, Lee, Ranjan, Wells & Wild, Modeling an Augmented Lagrangian for Blackbox
          Constrained Optimization, Technometrics 2016; also the example of PESC (Hernandez-Lobato et al., 2015)
[GSA14]   Gelbart, Snoek & Adams, Bayesian Optimization with Unknown Constraints, UAI 2014
[CM02]    Coello Coello & Mezura Montes, Constraint-handling in genetic algorithms, Adv. Eng. Informatics 2002
[LBBB10]  Lemonge, Barbosa, Borges & Silva, Constrained Optimization Problems in Mechanical Engineering Design, 2010
[ZDT00]   Zitzler, Deb & Thiele, Comparison of Multiobjective Evolutionary Algorithms, Evol. Comp. 2000
[DTLZ05]  Deb, Thiele, Laumanns & Zitzler, Scalable Test Problems for Evolutionary Multiobjective Optimization, 2005
[JD14]    Jain & Deb, An Evolutionary Many-Objective Optimization Algorithm, part II, IEEE Trans. Evol. Comp. 2014
[BP19]    Belakaria & Deshwal, Max-value Entropy Search for Multi-Objective Bayesian Optimization, NeurIPS 2019
[TI20]    Tanabe & Ishibuchi, An Easy-to-use Real-world Multi-objective Optimization Problem Suite, 2020

Reference points of published problems are those of BoTorch's test functions. What is best was computed by
`python -m benchmarks.outputs.optima`, but for those of ZDT and DTLZ, which are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from scipy.stats import qmc

from benchmarks.outputs.hypervolume import Flags
from experiments.problems import Rows

Direction = Literal["minimize", "maximize"]
Limit = tuple[Literal["<=", ">="], float]
TOLERANCE = 1e-8
"""Of a constraint, relative to its limit: for rounding alone."""


@dataclass(frozen=True)
class OutputProblem:
    """One objective with constraints, or several objectives."""

    name: str
    bounds: tuple[tuple[float, float], ...]
    formula: Callable[[Rows], dict[str, Rows]]
    """From points in the units of the problem to outputs."""
    objectives: Mapping[str, Direction]
    constraints: Mapping[str, Limit] = field(default_factory=dict)
    optimum: float | None = None
    """The best feasible value of one objective."""
    optimizer: tuple[float, ...] | None = None
    """Where that is, in the units of the problem."""
    worst: float | None = None
    """The worst feasible value of one objective."""
    reference: tuple[float, ...] | None = None
    """The reference point of several objectives, in the order of these."""
    hypervolume: float | None = None
    """The largest known one."""
    noise: float = 0.0
    """Standard deviation that is added to each output, as a share of its spread."""

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return len(self.bounds)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Objectives first."""
        return (*self.objectives, *self.constraints)

    @property
    def several(self) -> bool:
        """Whether there are several objectives."""
        return len(self.objectives) > 1

    @property
    def signs(self) -> Rows:
        """From objectives to losses."""
        return np.array([1.0 if direction == "minimize" else -1.0 for direction in self.objectives.values()])

    def in_units(self, X: Rows) -> Rows:
        """Points in the units of the problem."""
        low, high = np.array(self.bounds).T
        return np.asarray(low + (high - low) * np.clip(X, 0.0, 1.0))

    def in_cube(self, U: Rows) -> Rows:
        """Points of the unit cube."""
        low, high = np.array(self.bounds).T
        return np.asarray((U - low) / (high - low))

    def values(self, X: Rows) -> dict[str, Rows]:
        """All outputs at points of the unit cube, without noise."""
        found = self.formula(self.in_units(np.atleast_2d(X)))
        return {name: np.asarray(found[name], dtype=float) for name in self.outputs}

    def evaluate(self, x: Rows, rng: np.random.Generator | None = None) -> dict[str, float]:
        """All outputs at one point, with noise if there is any to be drawn."""
        found = {name: float(values[0]) for name, values in self.values(x).items()}
        if rng is None or self.noise == 0.0:
            return found
        return {
            name: value + self.noise * _spread(self.name)[name] * float(rng.standard_normal())
            for name, value in found.items()
        }

    def losses(self, values: Mapping[str, Any]) -> Rows:
        """The objectives, all to be minimized."""
        return np.asarray(self.signs * np.stack([np.atleast_1d(values[name]) for name in self.objectives], axis=1))

    def violations(self, values: Mapping[str, Any]) -> Rows:
        """By how much each constraint is not met, (n, number of constraints); feasible from zero down."""
        n = len(np.atleast_1d(values[self.outputs[0]]))
        found = np.zeros((n, len(self.constraints)))
        for k, (name, (relation, limit)) in enumerate(self.constraints.items()):
            excess = np.atleast_1d(values[name]) - limit
            found[:, k] = excess if relation == "<=" else -excess
        return found

    def feasible(self, values: Mapping[str, Any]) -> Flags:
        """Where all constraints are met."""
        limits = np.array([limit for _, limit in self.constraints.values()])
        return np.asarray(np.all(self.violations(values) <= TOLERANCE * np.maximum(np.abs(limits), 1.0), axis=1))


def spread(task: OutputProblem) -> dict[str, float]:
    """Of each output, half the distance between its 16 % and 84 % quantiles over the whole space."""
    return _spread(task.name)


@cache
def _spread(name: str) -> dict[str, float]:
    task = problem(name)
    X = qmc.Sobol(task.dimension, rng=np.random.default_rng(0)).random_base2(8 if name == "digits" else 12)
    return {
        output: float(np.subtract(*np.quantile(values, [0.84, 0.16]))) / 2.0
        for output, values in task.values(X).items()
    }


# One objective


def gardner1() -> OutputProblem:
    """Two waves, [GKX14, simulation 1]."""

    def formula(U: Rows) -> dict[str, Rows]:
        a, b = U.T
        return {"f": np.cos(2.0 * a) * np.cos(b) + np.sin(a), "c": np.cos(a + b)}

    return OutputProblem(
        "gardner1",
        ((0.0, 6.0),) * 2,
        formula,
        {"f": "minimize"},
        {"c": ("<=", 0.5)},
        optimum=-2.0,
        optimizer=(1.5 * math.pi, 0.0),
        worst=2.0,
    )


def gardner2() -> OutputProblem:
    """A feasible region of two small spots, [GKX14, simulation 2]."""

    def formula(U: Rows) -> dict[str, Rows]:
        a, b = U.T
        return {"f": np.sin(a) + b, "c": np.sin(a) * np.sin(b)}

    return OutputProblem(
        "gardner2",
        ((0.0, 6.0),) * 2,
        formula,
        {"f": "minimize"},
        {"c": ("<=", -0.95)},
        optimum=0.25323589,
        optimizer=(1.5 * math.pi, 1.253235898),
        worst=6.0299506,
    )


def gramacy() -> OutputProblem:
    """A plane between a wave and a disk, [GGL16, section 2]."""

    def formula(U: Rows) -> dict[str, Rows]:
        a, b = U.T
        wave = 1.5 - a - 2.0 * b - 0.5 * np.sin(2.0 * math.pi * (a**2 - 2.0 * b))
        return {"f": a + b, "wave": wave, "disk": a**2 + b**2 - 1.5}

    limits: dict[str, Limit] = {"wave": ("<=", 0.0), "disk": ("<=", 0.0)}
    return OutputProblem(
        "gramacy",
        ((0.0, 1.0),) * 2,
        formula,
        {"f": "minimize"},
        limits,
        optimum=0.59978805,
        optimizer=(0.1951226882, 0.4046653637),
        worst=1.7320508,
    )


def _branin(a: Rows, b: Rows) -> Rows:
    bend = b - 5.1 / (4.0 * math.pi**2) * a**2 + 5.0 / math.pi * a - 6.0
    return np.asarray(bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * np.cos(a) + 10.0)


def branin_disk() -> OutputProblem:
    """Branin within a disk that leaves one of its three minima, [GSA14, section 4.1]."""

    def formula(U: Rows) -> dict[str, Rows]:
        a, b = U.T
        return {"f": _branin(a, b), "disk": (a - 2.5) ** 2 + (b - 7.5) ** 2}

    bounds = ((-5.0, 10.0), (0.0, 15.0))
    return OutputProblem(
        "branin-disk",
        bounds,
        formula,
        {"f": "minimize"},
        {"disk": ("<=", 50.0)},
        optimum=0.39788736,
        optimizer=(math.pi, 2.275),
        worst=179.356,
    )


def spring() -> OutputProblem:
    """The weight of a spring by the diameters of wire and coil and the number of coils, [CM02, appendix]."""

    def formula(U: Rows) -> dict[str, Rows]:
        wire, coil, turns = U.T
        bending = (4.0 * coil**2 - wire * coil) / (12566.0 * (coil * wire**3 - wire**4))
        return {
            "weight": (turns + 2.0) * coil * wire**2,
            "deflection": 1.0 - coil**3 * turns / (71785.0 * wire**4),
            # The coil may not be thinner than the wire: where it is nearly, or thinner, this has no meaning.
            "shear": np.where(coil > wire, bending + 1.0 / (5108.0 * wire**2) - 1.0, 100.0).clip(None, 100.0),
            "surge": 1.0 - 140.45 * wire / (coil**2 * turns),
            "diameter": (wire + coil) / 1.5 - 1.0,
        }

    limits: dict[str, Limit] = dict.fromkeys(("deflection", "shear", "surge", "diameter"), ("<=", 0.0))
    return OutputProblem(
        "spring",
        ((0.05, 2.0), (0.25, 1.3), (2.0, 15.0)),
        formula,
        {"weight": "minimize"},
        limits,
        optimum=0.012665233,
        optimizer=(0.051689055, 0.3567175934, 11.28897434),
        worst=0.323242,
    )


def welded_beam() -> OutputProblem:
    """The cost of a welded beam by height and length of the weld, height and width of the beam, [CM02, appendix]."""
    load, length, young, rigidity = 6000.0, 14.0, 30e6, 12e6

    def formula(U: Rows) -> dict[str, Rows]:
        weld, along, height, width = U.T
        arm = np.sqrt(along**2 / 4.0 + ((weld + height) / 2.0) ** 2)
        polar = 2.0 * math.sqrt(2.0) * weld * along * (along**2 / 12.0 + ((weld + height) / 2.0) ** 2)
        direct = load / (math.sqrt(2.0) * weld * along)
        twist = load * (length + along / 2.0) * arm / polar
        slender = 1.0 - height / (2.0 * length) * math.sqrt(young / (4.0 * rigidity))
        return {
            "cost": 1.10471 * weld**2 * along + 0.04811 * height * width * (14.0 + along),
            "shear": np.sqrt(direct**2 + direct * twist * along / arm + twist**2),
            "bending": 6.0 * load * length / (width * height**2),
            "overlap": weld - width,
            "material": 0.10471 * weld**2 + 0.04811 * height * width * (14.0 + along),
            "deflection": 4.0 * load * length**3 / (young * height**3 * width),
            "buckling": 4.013 * young * height * width**3 / (6.0 * length**2) * slender,
        }

    limits: dict[str, Limit] = {
        "shear": ("<=", 13600.0), "bending": ("<=", 30000.0), "overlap": ("<=", 0.0), "material": ("<=", 5.0),
        "deflection": ("<=", 0.25), "buckling": (">=", load),
    }  # fmt: skip
    bounds = ((0.125, 2.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0))
    return OutputProblem(
        "welded-beam",
        bounds,
        formula,
        {"cost": "minimize"},
        limits,
        optimum=1.7248523,
        optimizer=(0.2057296398, 3.470488666, 9.03662391, 0.2057296398),
        worst=19.0186,
    )


def pressure_vessel() -> OutputProblem:
    """The cost of a vessel by the thickness of shell and heads, radius and length, [CM02]; all of them continuous."""

    def formula(U: Rows) -> dict[str, Rows]:
        shell, heads, radius, length = U.T
        return {
            "cost": 0.6224 * shell * radius * length + 1.7781 * heads * radius**2
            + 3.1661 * shell**2 * length + 19.84 * shell**2 * radius,
            "shell": shell - 0.0193 * radius,
            "heads": heads - 0.00954 * radius,
            "volume": math.pi * radius**2 * length + 4.0 / 3.0 * math.pi * radius**3,
        }  # fmt: skip

    limits: dict[str, Limit] = {"shell": (">=", 0.0), "heads": (">=", 0.0), "volume": (">=", 1296000.0)}
    bounds = ((0.0625, 6.1875), (0.0625, 6.1875), (10.0, 200.0), (10.0, 200.0))
    return OutputProblem(
        "pressure-vessel",
        bounds,
        formula,
        {"cost": "minimize"},
        limits,
        optimum=5885.3328,
        optimizer=(0.7781686414, 0.3846491626, 40.31961872, 200.0),
        worst=770282.0,
    )


def speed_reducer() -> OutputProblem:
    """The weight of a gear box by face width, module, teeth, and lengths and diameters of two shafts, [LBBB10]."""

    def formula(U: Rows) -> dict[str, Rows]:
        face, module, teeth, first, second, thick, thicker = U.T
        return {
            "weight": 0.7854 * face * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
            - 1.508 * face * (thick**2 + thicker**2) + 7.4777 * (thick**3 + thicker**3)
            + 0.7854 * (first * thick**2 + second * thicker**2),
            "bending": 27.0 / (face * module**2 * teeth) - 1.0,
            "contact": 397.5 / (face * module**2 * teeth**2) - 1.0,
            "deflection1": 1.93 * first**3 / (module * teeth * thick**4) - 1.0,
            "deflection2": 1.93 * second**3 / (module * teeth * thicker**4) - 1.0,
            "stress1": np.sqrt((745.0 * first / (module * teeth)) ** 2 + 16.9e6) / (0.1 * thick**3) - 1100.0,
            "stress2": np.sqrt((745.0 * second / (module * teeth)) ** 2 + 157.5e6) / (0.1 * thicker**3) - 850.0,
            "space": module * teeth - 40.0,
            "narrow": 5.0 - face / module,
            "wide": face / module - 12.0,
            "shaft1": (1.5 * thick + 1.9) / first - 1.0,
            "shaft2": (1.1 * thicker + 1.9) / second - 1.0,
        }  # fmt: skip

    names = ("bending", "contact", "deflection1", "deflection2", "stress1", "stress2", "space", "narrow", "wide",
             "shaft1", "shaft2")  # fmt: skip
    limits: dict[str, Limit] = dict.fromkeys(names, ("<=", 0.0))
    bounds = ((2.6, 3.6), (0.7, 0.8), (17.0, 28.0), (7.3, 8.3), (7.8, 8.3), (2.9, 3.9), (5.0, 5.5))
    return OutputProblem(
        "speed-reducer",
        bounds,
        formula,
        {"weight": "minimize"},
        limits,
        optimum=2996.3482,
        optimizer=(3.5, 0.7, 17.0, 7.3, 7.8, 3.350214666, 5.28668323),
        worst=6117.38,
    )


# Several objectives

BOTH: dict[str, Direction] = {"f": "minimize", "g": "minimize"}


def _zdt(name: str, shape: Callable[[Rows, Rows], Rows], dimension: int, volume: float) -> OutputProblem:
    """From 1 - g / (1 + 9 mean(x_2, ..., x_d)) as a function of x_1 and that mean, [ZDT00]."""

    def formula(U: Rows) -> dict[str, Rows]:
        rest = 1.0 + 9.0 * U[:, 1:].mean(axis=1)
        return {"f": U[:, 0], "g": rest * shape(U[:, 0], rest)}

    named = f"{name}-{dimension}"
    return OutputProblem(named, ((0.0, 1.0),) * dimension, formula, BOTH, reference=(11.0, 11.0), hypervolume=volume)


def zdt1(dimension: int = 4) -> OutputProblem:
    """A convex front."""
    return _zdt("zdt1", lambda f, rest: 1.0 - np.sqrt(f / rest), dimension, 120.0 + 2.0 / 3.0)


def zdt2(dimension: int = 4) -> OutputProblem:
    """A concave front."""
    return _zdt("zdt2", lambda f, rest: 1.0 - (f / rest) ** 2, dimension, 120.0 + 1.0 / 3.0)


def zdt3(dimension: int = 4) -> OutputProblem:
    """A front in five pieces."""

    def shape(f: Rows, rest: Rows) -> Rows:
        return np.asarray(1.0 - np.sqrt(f / rest) - f / rest * np.sin(10.0 * math.pi * f))

    return _zdt("zdt3", shape, dimension, 128.77811613)


def _quarter_circle(U: Rows) -> tuple[Rows, Rows]:
    radius = 1.0 + np.sum((U[:, 1:] - 0.5) ** 2, axis=1)
    return radius * np.cos(0.5 * math.pi * U[:, 0]), radius * np.sin(0.5 * math.pi * U[:, 0])


def dtlz2(dimension: int = 4) -> OutputProblem:
    """A quarter of a circle, [DTLZ05], for two objectives."""

    def formula(U: Rows) -> dict[str, Rows]:
        f, g = _quarter_circle(U)
        return {"f": f, "g": g}

    return OutputProblem(
        f"dtlz2-{dimension}",
        ((0.0, 1.0),) * dimension,
        formula,
        BOTH,
        reference=(1.1, 1.1),
        hypervolume=1.21 - math.pi / 4.0,
    )


def c2_dtlz2(dimension: int = 4) -> OutputProblem:
    """The same where it is within 0.2 of one of three points: several objectives and a constraint, [JD14]."""
    radius = 0.2

    def formula(U: Rows) -> dict[str, Rows]:
        f, g = _quarter_circle(U)
        ends = np.minimum((f - 1.0) ** 2 + g**2, f**2 + (g - 1.0) ** 2)
        middle = (f - math.sqrt(0.5)) ** 2 + (g - math.sqrt(0.5)) ** 2
        return {"f": f, "g": g, "c": np.minimum(ends, middle) - radius**2}

    limits: dict[str, Limit] = {"c": ("<=", 0.0)}
    return OutputProblem(
        f"c2-dtlz2-{dimension}",
        ((0.0, 1.0),) * dimension,
        formula,
        BOTH,
        limits,
        reference=(1.1, 1.1),
        hypervolume=0.38233343,
    )


def branin_currin() -> OutputProblem:
    """Branin and Currin's function on the same square, [BP19]."""

    def formula(U: Rows) -> dict[str, Rows]:
        a, b = U.T
        with np.errstate(divide="ignore"):
            decay = 1.0 - np.exp(-0.5 / b)
        top = 2300.0 * a**3 + 1900.0 * a**2 + 2092.0 * a + 60.0
        return {
            "branin": _branin(15.0 * a - 5.0, 15.0 * b),
            "currin": decay * top / (100.0 * a**3 + 500.0 * a**2 + 4.0 * a + 20.0),
        }

    both: dict[str, Direction] = {"branin": "minimize", "currin": "minimize"}
    return OutputProblem("branin-currin", ((0.0, 1.0),) * 2, formula, both, reference=(18.0, 6.0), hypervolume=59.4063)


def vehicle_safety() -> OutputProblem:
    """Mass, acceleration and intrusion in a crash, by five thicknesses, [TI20, RE3-5-4]."""

    def formula(U: Rows) -> dict[str, Rows]:
        a, b, c, d, e = U.T
        return {
            "mass": 1640.2823 + 2.3573285 * a + 2.3220035 * b + 4.5688768 * c + 7.7213633 * d + 4.4559504 * e,
            "acceleration": 6.5856 + 1.15 * a - 1.0427 * b + 0.9738 * c + 0.8364 * d - 0.3695 * a * d
            + 0.0861 * a * e + 0.3628 * b * d - 0.1106 * a**2 - 0.3437 * c**2 + 0.1764 * d**2,
            "intrusion": -0.0551 + 0.0181 * a + 0.1024 * b + 0.0421 * c - 0.0073 * a * b + 0.024 * b * c
            - 0.0118 * b * d - 0.0204 * c * d - 0.008 * c * e - 0.0241 * b**2 + 0.0109 * d**2,
        }  # fmt: skip

    three: dict[str, Direction] = dict.fromkeys(("mass", "acceleration", "intrusion"), "minimize")
    reference = (1864.72022, 11.81993945, 0.2903999384)
    return OutputProblem("vehicle-safety", ((1.0, 3.0),) * 5, formula, three, reference=reference, hypervolume=247.3632)


def digits() -> OutputProblem:
    """A random forest for scikit-learn's digits: its accuracy against the logarithm of the number of its nodes.

    By the decimal logarithms of the number of trees, of leaves of a tree, and of the share of features at a split. The
    forest has a fixed seed, so that the same parameters give the same outputs.
    """

    def formula(U: Rows) -> dict[str, Rows]:
        found = [_forest(round(10.0 ** float(u[0])), round(10.0 ** float(u[1])), _of_features(float(u[2]))) for u in U]
        accuracy, size = np.array(found).reshape(-1, 2).T
        return {"accuracy": accuracy, "size": size}

    both: dict[str, Direction] = {"accuracy": "maximize", "size": "minimize"}
    bounds = ((0.0, 1.5), (math.log10(2.0), math.log10(200.0)), (-math.log10(64.0), 0.0))
    return OutputProblem("digits", bounds, formula, both, reference=(0.1, 4.2), hypervolume=2.5195327)


def _of_features(log: float) -> int:
    """How many of 64 features are tried at a split."""
    return min(64, max(1, round(64.0 * math.pow(10.0, log))))


@cache
def _forest(trees: int, leaves: int, features: int) -> tuple[float, float]:
    """Accuracy on half of the digits of a forest of the other half, and log10 of its nodes."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier

    images, labels = load_digits(return_X_y=True)
    forest = RandomForestClassifier(trees, max_leaf_nodes=leaves, max_features=features, random_state=0)
    forest.fit(images[::2], labels[::2])
    nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    return float(np.mean(forest.predict(images[1::2]) == labels[1::2])), math.log10(nodes)


MAKERS: dict[str, Callable[..., OutputProblem]] = {
    "gardner1": gardner1, "gardner2": gardner2, "gramacy": gramacy, "branin-disk": branin_disk, "spring": spring,
    "welded-beam": welded_beam, "pressure-vessel": pressure_vessel, "speed-reducer": speed_reducer,
    "zdt1": zdt1, "zdt2": zdt2, "zdt3": zdt3, "dtlz2": dtlz2, "c2-dtlz2": c2_dtlz2, "branin-currin": branin_currin,
    "vehicle-safety": vehicle_safety, "digits": digits,
}  # fmt: skip
OF_ANY_DIMENSION = ("zdt1", "zdt2", "zdt3", "dtlz2", "c2-dtlz2")
NAMES = tuple(f"{name}-4" if name in OF_ANY_DIMENSION else name for name in MAKERS)


def problem(name: str, noise: float = 0.0) -> OutputProblem:
    """The problem with a name, with noise as a share of the spread of each output; "zdt1-6" has six parameters."""
    family, _, digits_of = name.rpartition("-")
    if family in OF_ANY_DIMENSION and digits_of.isdecimal():
        return replace(MAKERS[family](int(digits_of)), noise=noise)
    if name in MAKERS:
        return replace(MAKERS[name](), noise=noise)
    raise KeyError(f"there is no problem {name!r}; there are {', '.join(NAMES)}")
