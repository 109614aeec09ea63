"""Methods as sessions of one protocol, ours and other libraries', each as its own documents use it, on one thread.

    xstar           `xstar.Optimizer` with `objectives` and `constraints`, told the reference point that counts;
                    "xstar:logei" is with another method
    optuna-gp       GPSampler: LogEI times the probability of feasibility, or the logarithm of the expected hypervolume
                    improvement; its model is used from the end of the start on
    optuna-tpe      TPESampler, likewise
    optuna-nsga2    NSGAIISampler, with a population as large as the start: with its default of 50, most budgets here
                    would end before the second generation
    botorch         a SingleTaskGP of each output, standardized, with the most probable hyperparameters;
                    qLogNoisyExpectedImprovement with constraints, or qLogNoisyExpectedHypervolumeImprovement, which is
                    told the reference point, too
    random          uniform points

"xstar-exact", "optuna-gp-exact" and "botorch-exact" are the same, told that the values are without noise, which others
have to find out; for problems that are.

All see the unit cube. What the others recommend: without noise, the best feasible one of what they have seen, or all
that no other one dominates, as a study of Optuna has it. With noise, BoTorch goes by its posterior means at the same
points; Optuna has no model to ask.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from benchmarks.outputs.hypervolume import nondominated
from benchmarks.outputs.problems import OutputProblem
from experiments.problems import Rows

METHODS = (
    "xstar", "xstar-exact", "optuna-gp", "optuna-gp-exact", "optuna-tpe", "optuna-nsga2", "botorch",
    "botorch-exact", "random",
)  # fmt: skip
NEEDS = {
    "optuna-gp": ("torch", "optuna"), "optuna-gp-exact": ("torch", "optuna"), "botorch": ("torch", "botorch"),
    "botorch-exact": ("torch", "botorch"),
}  # fmt: skip
EXACT = 1e-6
"""Variance of the noise of standardized values that BoTorch is told where there is none."""
MONTE_CARLO_SAMPLES = 128


class Session(Protocol):
    """One optimization by some library."""

    degraded: int
    """Suggestions that were random, since the library's own could not be computed."""

    def ask(self) -> Rows:
        """The next point, (d,)."""

    def tell(self, x: Rows, outputs: Mapping[str, float]) -> None:
        """Take note of all outputs at a point, asked for or not."""

    def recommend(self) -> Rows:
        """The best point, (1, d), or for several objectives a set of points, (m, d)."""


def begin(method: str, task: OutputProblem, seed: int, start: int) -> Session:
    """A session of a method, which is going to be told `start` points first."""
    missing = [package for package in NEEDS.get(method, ()) if importlib.util.find_spec(package) is None]
    if missing:
        raise ModuleNotFoundError(
            f"{method} needs {' and '.join(missing)}, not installed here. `make peers` makes an environment with all "
            f"libraries to compare with; then: .venv-peers/bin/python -m benchmarks.outputs --methods {method}"
        )
    if "torch" in NEEDS.get(method, ()):
        import torch

        torch.set_num_threads(1)
    family, _, variant = method.partition(":")
    if family in ("xstar", "xstar-exact"):
        return Ours(task, seed, start, variant or None, exact=family == "xstar-exact")
    if method == "random":
        return Random(task, seed)
    if method in ("botorch", "botorch-exact"):
        with warnings.catch_warnings():  # on being imported, a package of GPyTorch's uses what torch has deprecated
            warnings.filterwarnings("ignore", r"`torch\.jit", DeprecationWarning)
            importlib.import_module("botorch")
        return BoTorch(task, seed, exact=method == "botorch-exact")
    if method in METHODS:
        return Optuna(task, seed, start, method)
    raise ValueError(f"there is no method {method!r}; there are {', '.join(METHODS)}, and xstar:NAME.")


# What was told


@dataclass
class Record:
    """Points and their outputs."""

    task: OutputProblem
    points: list[Rows] = field(default_factory=list)
    outputs: list[dict[str, float]] = field(default_factory=list)

    def add(self, x: Rows, outputs: Mapping[str, float]) -> None:
        """One more."""
        self.points.append(np.array(x, dtype=float))
        self.outputs.append(dict(outputs))

    @property
    def values(self) -> dict[str, Rows]:
        """By output."""
        return {name: np.array([told[name] for told in self.outputs]) for name in self.task.outputs}

    def best(self, values: Mapping[str, Rows]) -> Rows:
        """The best feasible point by values, which may be those told or their means; the least infeasible if none is.

        Of several objectives, all points that no other one dominates.
        """
        X, losses, feasible = np.array(self.points), self.task.losses(values), self.task.feasible(values)
        if not feasible.any():
            violations = np.maximum(self.task.violations(values), 0.0)
            scale = np.maximum(violations.max(axis=0), 1e-300)
            return X[[int(np.argmin((violations / scale).sum(axis=1)))]]
        X, losses = X[feasible], losses[feasible]
        return X[nondominated(losses)] if self.task.several else X[[int(np.argmin(losses[:, 0]))]]


# Sessions


class Ours:
    """By `xstar.Optimizer`."""

    def __init__(
        self, task: OutputProblem, seed: int, start: int, method: str | None = None, *, exact: bool = False
    ) -> None:
        import xstar

        self.task, self.degraded = task, 0
        self.names = [f"x{k}" for k in range(task.dimension)]
        settings: dict[str, Any] = {} if method is None else {"method": method}
        if exact:
            settings["noise"] = 0.0
        objectives: dict[str, Any] = dict(task.objectives)
        if task.several:
            known = zip(task.objectives.items(), task.reference or (), strict=True)
            objectives = {name: xstar.Objective(direction, value) for (name, direction), value in known}
        if task.constraints:
            settings["constraints"] = dict(task.constraints)
        space = xstar.Space({name: xstar.Real(0.0, 1.0) for name in self.names})
        make: Any = xstar.Optimizer
        self.opt = make(space, objectives=objectives, seed=seed, num_initial=start, **settings)
        self.asked: dict[tuple[float, ...], Any] = {}
        """Trials without outputs, by their points."""

    def ask(self) -> Rows:
        with self._degrading():
            trial = self.opt.ask()
        x = self._row(trial.params)
        self.asked[tuple(x.tolist())] = trial
        return x

    def tell(self, x: Rows, outputs: Mapping[str, float]) -> None:
        point = tuple(x.tolist())
        trial = self.asked.pop(point, None)
        self.opt.tell(dict(zip(self.names, point, strict=True)) if trial is None else trial, dict(outputs))

    def recommend(self) -> Rows:
        with self._degrading():
            if self.task.several:
                found = [self._row(point.params) for point in self.opt.pareto().recommended]
                return np.array(found).reshape(-1, self.task.dimension)
            return self._row(self.opt.recommend().params)[None]

    def _row(self, params: Mapping[str, Any]) -> Rows:
        return np.array([params[name] for name in self.names], dtype=float)

    @contextlib.contextmanager
    def _degrading(self) -> Iterator[None]:
        """What is said about it is counted."""
        import xstar

        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", xstar.DegradedWarning)
            yield
        self.degraded += sum(issubclass(warning.category, xstar.DegradedWarning) for warning in said)


class Random:
    """Uniform points."""

    def __init__(self, task: OutputProblem, seed: int) -> None:
        self.record, self.degraded = Record(task), 0
        self.rng = np.random.default_rng([seed, 2])

    def ask(self) -> Rows:
        return np.asarray(self.rng.random(self.record.task.dimension))

    def tell(self, x: Rows, outputs: Mapping[str, float]) -> None:
        self.record.add(x, outputs)

    def recommend(self) -> Rows:
        return self.record.best(self.record.values)


class Optuna:
    """By a sampler of Optuna, in a study in memory."""

    def __init__(self, task: OutputProblem, seed: int, start: int, method: str) -> None:
        import optuna

        self.record, self.seed, self.degraded = Record(task), seed, 0
        within = optuna.distributions.FloatDistribution(0.0, 1.0)
        self.distributions = {f"x{k}": within for k in range(task.dimension)}
        self.asked: dict[tuple[float, ...], optuna.Trial] = {}
        """Trials without outputs, by their points."""
        samplers: dict[str, Any] = {
            "optuna-gp": lambda: optuna.samplers.GPSampler(seed=seed, n_startup_trials=start),
            "optuna-gp-exact": lambda: optuna.samplers.GPSampler(
                seed=seed, n_startup_trials=start, deterministic_objective=True
            ),
            "optuna-tpe": lambda: optuna.samplers.TPESampler(seed=seed, n_startup_trials=start),
            "optuna-nsga2": lambda: optuna.samplers.NSGAIISampler(seed=seed, population_size=start),
        }
        with _logging_less():
            self.study = optuna.create_study(directions=list(task.objectives.values()), sampler=samplers[method]())

    def ask(self) -> Rows:
        try:
            return self._ask()
        except (RuntimeError, ValueError, np.linalg.LinAlgError):
            self.degraded += 1
            return np.random.default_rng([self.seed, len(self.record.points)]).random(self.record.task.dimension)

    def _ask(self) -> Rows:
        with _logging_less():
            trial = self.study.ask(fixed_distributions=dict(self.distributions))
        x = np.array([trial.params[name] for name in self.distributions])
        self.asked[tuple(x.tolist())] = trial
        return x

    def tell(self, x: Rows, outputs: Mapping[str, float]) -> None:
        task, point = self.record.task, tuple(x.tolist())
        self.record.add(x, outputs)
        if point not in self.asked:
            # Through the queue, so that NSGA-II takes it for one of its own.
            self.study.enqueue_trial(dict(zip(self.distributions, point, strict=True)))
            with _logging_less():
                self.asked[point] = self.study.ask(fixed_distributions=dict(self.distributions))
        trial = self.asked.pop(point)
        for name, violation in zip(task.constraints, task.violations(outputs)[0], strict=True):
            trial.set_constraint(name, float(violation))
        self.study.tell(trial, [outputs[name] for name in task.objectives])

    def recommend(self) -> Rows:
        return self.record.best(self.record.values)


@contextlib.contextmanager
def _logging_less() -> Iterator[None]:
    """Without Optuna's words about a new study and retried fits, and without its warnings of what is experimental."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


class BoTorch:
    """By BoTorch: a model of each output, an acquisition function of all, and its maximizer."""

    def __init__(self, task: OutputProblem, seed: int, exact: bool) -> None:
        self.record, self.seed, self.exact, self.degraded = Record(task), seed, exact, 0
        self.fitted: tuple[int, Any] | None = None
        """The models, and of how many values they are."""

    def ask(self) -> Rows:
        x = self._attempt(self._most_acquired)
        if x is not None and np.all(np.isfinite(x)):
            return np.asarray(x, dtype=float)
        self.degraded += 1
        return np.random.default_rng([self.seed, len(self.record.points)]).random(self.record.task.dimension)

    def tell(self, x: Rows, outputs: Mapping[str, float]) -> None:
        self.record.add(x, outputs)

    def recommend(self) -> Rows:
        means = self._attempt(self._means) if self.record.task.noise > 0.0 else None
        return self.record.best(self.record.values if means is None else means)

    def _scales(self) -> tuple[Rows, Rows]:
        """Mean and standard deviation of each output."""
        Y = np.stack(list(self.record.values.values()), axis=1)
        sd = Y.std(axis=0, ddof=1)
        return Y.mean(axis=0), np.where(sd > 0.0, sd, 1.0)

    def _models(self) -> Any:
        """Standardized, objectives turned to be maximized."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from gpytorch.mlls import SumMarginalLogLikelihood

        count = len(self.record.points)
        if self.fitted is None or self.fitted[0] != count:
            x, (mean, sd) = torch.as_tensor(np.array(self.record.points)), self._scales()
            turned = np.append(-self.record.task.signs, np.ones(len(self.record.task.constraints)))
            Y = turned * (np.stack(list(self.record.values.values()), axis=1) - mean) / sd
            noise = torch.full((count, 1), EXACT).double() if self.exact else None
            models = ModelListGP(
                *(SingleTaskGP(x, torch.as_tensor(y)[:, None], noise, outcome_transform=None) for y in Y.T)
            )
            fit_gpytorch_mll(SumMarginalLogLikelihood(models.likelihood, models))
            self.fitted = count, models
        return self.fitted[1]

    def _most_acquired(self) -> Rows:
        import torch
        from botorch.sampling.normal import SobolQMCNormalSampler

        from experiments.peers import climb

        task, models = self.record.task, self._models()
        (mean, sd), count = self._scales(), len(task.objectives)
        X = torch.as_tensor(np.array(self.record.points))
        bounds = torch.stack([torch.zeros(task.dimension), torch.ones(task.dimension)]).double()
        sampler = SobolQMCNormalSampler(torch.Size([MONTE_CARLO_SAMPLES]), seed=self.seed)
        limited = [
            _constraint(count + k, (limit - mean[count + k]) / sd[count + k], relation)
            for k, (relation, limit) in enumerate(task.constraints.values())
        ]
        shared = {"sampler": sampler, "constraints": limited or None, "prune_baseline": True}
        acquisition: Any
        if task.several:
            from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
            from botorch.acquisition.multi_objective.objective import IdentityMCMultiOutputObjective

            reference = -task.signs * (np.array(task.reference) - mean[:count]) / sd[:count]
            wanted = IdentityMCMultiOutputObjective(outcomes=list(range(count)))
            acquisition = qLogNoisyExpectedHypervolumeImprovement(
                models, torch.as_tensor(reference), X, objective=wanted, **shared
            )
        else:
            from botorch.acquisition.logei import qLogNoisyExpectedImprovement
            from botorch.acquisition.objective import LinearMCObjective

            first = LinearMCObjective(torch.eye(len(task.outputs)).double()[0])
            acquisition = qLogNoisyExpectedImprovement(models, X, objective=first, **shared)
        return np.asarray(climb(acquisition, bounds)[0].numpy())

    def _means(self) -> dict[str, Rows]:
        """Posterior means at the points told, in the units of the outputs."""
        import torch

        task, (mean, sd) = self.record.task, self._scales()
        with torch.no_grad():
            standardized = self._models().posterior(torch.as_tensor(np.array(self.record.points))).mean.numpy()
        turned = np.append(-task.signs, np.ones(len(task.constraints)))
        return dict(zip(task.outputs, (mean + sd * turned * standardized).T, strict=True))

    def _attempt(self, find: Any) -> Any:
        """What is found, or None after a numerical failure; random numbers of torch are this step's own."""
        import torch
        from botorch.exceptions import BotorchError, ModelFittingError
        from botorch.exceptions.warnings import BotorchWarning
        from gpytorch.utils.warnings import NumericalWarning

        state = np.random.SeedSequence([self.seed, len(self.record.points)]).generate_state(1)
        try:
            with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
                warnings.simplefilter("ignore", BotorchWarning)
                warnings.simplefilter("ignore", NumericalWarning)
                warnings.filterwarnings("ignore", "Optimization failed", RuntimeWarning)  # of some starts
                torch.manual_seed(int(state[0]))
                return find()
        # Matrices that are not positive definite and numbers that are not finite come as a RuntimeError of torch, too.
        except (BotorchError, ModelFittingError, RuntimeError):
            return None


def _constraint(k: int, limit: float, relation: str) -> Any:
    """Of samples of all outputs, negative where the constraint is met."""
    sign = 1.0 if relation == "<=" else -1.0
    return lambda samples: sign * (samples[..., k] - limit)
