"""Sessions of other libraries, each as its own documents use it, on one thread.

    botorch-logei   SingleTaskGP as it comes, fitted by fit_gpytorch_mll; LogExpectedImprovement, climbed
                    by optimize_acqf
    botorch-pes     the same model; qPredictiveEntropySearch given 50 maximizers of get_optimal_samples, climbed by
                    finite differences as its documents advise. Slow: six seconds and more for a suggestion in two
                    dimensions
    botorch-jes     the same model; qJointEntropySearch given 50 maximizers and maxima, its recommended lower bound
    optuna-gp       GPSampler for noisy values: LogEI with the most probable hyperparameters
    optuna-tpe      TPESampler

BoTorch recommends the maximizer of its posterior mean, as ours do; the model is fitted once to each value, by whichever
of recommendation and suggestion comes first. Optuna has a model only inside its samplers, so it recommends what a study
offers: the point with the largest noisy value. Its seconds of a suggestion hold the fit, those of BoTorch do not.

With noise, the value to improve on is not among the data. LogExpectedImprovement takes `best_f` for a noiseless one;
BoTorch's own factory, `get_acquisition_function`, therefore gives its EIs the largest posterior mean at the evaluated
points, and so it is here. (BoTorch's LogNoisyExpectedImprovement wants the noise to be known, which here it is not.)

GPSampler uses its model from the fourth evaluation on, as all others do; by default it would draw random points up to
the tenth, and do worse. TPE is left at its default, ten, which is no worse for it than three.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import optuna

    from experiments.course import Session
    from experiments.problems import Problem, Rows

NUM_OPTIMA, NUM_RESTARTS, RAW_SAMPLES = 50, 10, 512
NEEDS = {
    "botorch-logei": ("torch", "botorch"),
    "botorch-pes": ("torch", "botorch"),
    "botorch-jes": ("torch", "botorch"),
    "optuna-gp": ("torch", "optuna"),
    "optuna-tpe": ("optuna",),
}
"""Packages by method."""
FIT, SUGGEST, RECOMMEND = range(3)

Acquire = Callable[[Any, Any], Any]
"""From a fitted model and the bounds (2, d) to one of BoTorch's acquisition functions."""


def begin(method: str, problem: Problem, seed: int) -> Session:
    """A session of another library."""
    if method not in NEEDS:
        raise ValueError(f"there is no peer {method!r}; there are {', '.join(NEEDS)}.")
    missing = [package for package in NEEDS[method] if importlib.util.find_spec(package) is None]
    if missing:
        raise ModuleNotFoundError(
            f"{method} needs {' and '.join(missing)}, not installed here. `make peers` makes an environment with all "
            f"libraries to compare with; then: .venv-peers/bin/python -m experiments run ... --methods {method}"
        )
    if "torch" in NEEDS[method]:
        import torch

        torch.set_num_threads(1)
    if method in ACQUISITIONS:
        with warnings.catch_warnings():  # on being imported, a package of GPyTorch's uses what torch has deprecated
            warnings.filterwarnings("ignore", r"`torch\.jit", DeprecationWarning)
            importlib.import_module("botorch")
        return BoTorch(problem.dimension, seed, *ACQUISITIONS[method])
    return Optuna(problem.dimension, seed, method)


# BoTorch's functions, as these sessions and benchmarks.speed call them.


def as_tensors(X: Rows, y: Rows) -> tuple[Any, Any, Any]:
    """Points (n, d), values (n, 1) and the bounds of the unit cube (2, d)."""
    import torch

    bounds = torch.stack([torch.zeros(X.shape[1]), torch.ones(X.shape[1])]).double()
    return torch.as_tensor(X), torch.as_tensor(y)[:, None], bounds


def fit_model(x: Any, y: Any) -> Any:
    """A SingleTaskGP of standardized values with the most probable hyperparameters."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(x, y, outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def climb(acquisition: Any, bounds: Any, **options: Any) -> Any:
    """Where an acquisition function is largest, (1, d)."""
    from botorch.optim import optimize_acqf

    point, _ = optimize_acqf(
        acquisition, bounds, q=1, num_restarts=NUM_RESTARTS, raw_samples=RAW_SAMPLES, options=options
    )
    return point


def log_expected_improvement(model: Any, _bounds: Any) -> Any:
    """LogEI over the largest posterior mean at the evaluated points."""
    import torch
    from botorch.acquisition import LogExpectedImprovement

    with torch.no_grad():
        best = model.posterior(model.train_inputs[0]).mean.max()
    return LogExpectedImprovement(model, best_f=best)


def predictive_entropy_search(model: Any, bounds: Any) -> Any:
    """PES, whose gradients are not to be relied on."""
    from botorch.acquisition.predictive_entropy_search import qPredictiveEntropySearch
    from botorch.acquisition.utils import get_optimal_samples

    optima, _ = get_optimal_samples(model, bounds, num_optima=NUM_OPTIMA)
    return qPredictiveEntropySearch(model, optima)


def joint_entropy_search(model: Any, bounds: Any) -> Any:
    """JES by its lower bound."""
    from botorch.acquisition.joint_entropy_search import qJointEntropySearch
    from botorch.acquisition.utils import get_optimal_samples

    optima, maxima = get_optimal_samples(model, bounds, num_optima=NUM_OPTIMA)
    return qJointEntropySearch(model, optima, maxima, estimation_type="LB")


ACQUISITIONS: dict[str, tuple[Acquire, dict[str, Any]]] = {
    "botorch-logei": (log_expected_improvement, {}),
    "botorch-pes": (predictive_entropy_search, {"with_grad": False}),
    "botorch-jes": (joint_entropy_search, {}),
}
"""With what `climb` is told about each."""


# Sessions


@dataclass
class BoTorch:
    """By BoTorch: a model, an acquisition function, and its maximizer."""

    dimension: int
    seed: int
    acquire: Acquire
    options: dict[str, Any]
    degraded: int = 0
    points: list[Rows] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    fitted: tuple[Any, Any] | None = None
    """The model of all values and the bounds, once it was needed."""

    def tell(self, x: Rows, y: float) -> None:
        """Take note of a value."""
        self.points.append(np.array(x, dtype=float))
        self.values.append(float(y))
        self.fitted = None

    def suggest(self) -> Rows:
        """Where the acquisition function is largest; a random point where it could not be computed."""
        x = self._attempt(self._most_acquired)
        if x is not None:
            return x
        self.degraded += 1
        return np.random.default_rng([self.seed, len(self.values)]).random(self.dimension)

    def recommend(self) -> Rows:
        """The maximizer of the posterior mean; the point with the largest value where there is none."""
        x = self._attempt(self._largest_mean)
        return self.points[int(np.argmax(self.values))] if x is None else x

    def _most_acquired(self) -> Any:
        model, bounds = self._fit()
        with self._drawing(SUGGEST):
            return climb(self.acquire(model, bounds), bounds, **self.options)

    def _largest_mean(self) -> Any:
        from botorch.acquisition import PosteriorMean

        model, bounds = self._fit()
        with self._drawing(RECOMMEND):
            return climb(PosteriorMean(model), bounds)

    def _fit(self) -> tuple[Any, Any]:
        if self.fitted is None:
            x, y, bounds = as_tensors(np.array(self.points), np.array(self.values))
            with self._drawing(FIT):
                self.fitted = fit_model(x, y), bounds
        return self.fitted

    def _attempt(self, find: Callable[[], Any]) -> Rows | None:
        """A point (d,), or None after a numerical failure."""
        from botorch.exceptions import BotorchError, ModelFittingError

        try:
            with _without_their_warnings():
                x = find()[0].numpy()
        # Matrices that are not positive definite and numbers that are not finite come as a RuntimeError of torch, too.
        except (BotorchError, ModelFittingError, RuntimeError):
            return None
        return np.asarray(x, dtype=float) if np.all(np.isfinite(x)) else None

    @contextlib.contextmanager
    def _drawing(self, step: int) -> Iterator[None]:
        """Torch's random numbers are this step's own, whatever was drawn before, and later ones are left alone."""
        import torch

        state = np.random.SeedSequence([self.seed, len(self.values), step]).generate_state(1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(state[0]))
            yield


@contextlib.contextmanager
def _without_their_warnings() -> Iterator[None]:
    """About retried fits and climbs, and jitter: BoTorch goes on by itself after these."""
    from botorch.exceptions.warnings import BotorchWarning
    from gpytorch.utils.warnings import NumericalWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BotorchWarning)
        warnings.simplefilter("ignore", NumericalWarning)
        yield


class Optuna:
    """By a sampler of Optuna, in a study in memory."""

    def __init__(self, dimension: int, seed: int, method: str) -> None:
        import optuna

        from experiments.course import START

        self.seed, self.degraded = seed, 0
        self.names = [f"x{k}" for k in range(dimension)]
        self.asked: dict[tuple[float, ...], optuna.Trial] = {}
        """Trials without a value, by their points."""
        sampler: optuna.samplers.BaseSampler
        if method == "optuna-gp":
            sampler = optuna.samplers.GPSampler(seed=seed, n_startup_trials=START, deterministic_objective=False)
        else:
            sampler = optuna.samplers.TPESampler(seed=seed)
        with _logging_less():
            self.study = optuna.create_study(direction="maximize", sampler=sampler)

    def tell(self, x: Rows, y: float) -> None:
        """Take note of a value; a point that was not asked for becomes a trial of its own."""
        import optuna

        point = tuple(x.tolist())
        if point in self.asked:
            self.study.tell(self.asked.pop(point), y)
            return
        within: dict[str, Any] = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in self.names}
        params = dict(zip(self.names, point, strict=True))
        self.study.add_trial(optuna.trial.create_trial(params=params, distributions=within, value=y))

    def suggest(self) -> Rows:
        """What the sampler says; a random point where it could not be computed."""
        try:
            with _logging_less():
                trial = self.study.ask()
                point = tuple(trial.suggest_float(name, 0.0, 1.0) for name in self.names)
        except (RuntimeError, np.linalg.LinAlgError):
            self.degraded += 1
            return np.random.default_rng([self.seed, len(self.study.trials)]).random(len(self.names))
        self.asked[point] = trial
        return np.array(point)

    def recommend(self) -> Rows:
        """The point with the largest value."""
        best = self.study.best_params
        return np.array([best[name] for name in self.names])


@contextlib.contextmanager
def _logging_less() -> Iterator[None]:
    """Without Optuna's words about a new study, retried fits, and greenlet, which only saves time."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
