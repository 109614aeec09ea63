"""The named methods: which kernel, which inference of its hyperparameters, which acquisition.

xstar.Optimizer(space, method="pes")
xstar.Optimizer(space, method=xstar.Method(inference=MAP(), acquisition=LogEI()))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from xstar.acquisition import EI, ES, MES, PES, Acquisition, LogEI, Thompson
from xstar.errors import SettingsError
from xstar.feasibility import FeasibilitySettings
from xstar.gp import Fixed, Inference, Kernel, Matern52, PosteriorMean, SliceSampling, SquaredExponential
from xstar.numerics.checks import instance, integer, positive
from xstar.search import SearchSettings

__all__ = ["METHODS", "Method", "ModelSettings", "WarpSettings", "find_method", "name_of"]


@dataclass(frozen=True)
class WarpSettings:
    """Where the output transform stops being linear.

    Chosen so that values of a normal distribution are not warped (the median minus 3 interquartile ranges is at -4
    standard deviations) and that a good value is hardly ever: how good the best is matters.
    """

    below: float = 3.0
    """Interquartile ranges from the median down to where the warp begins."""
    above: float = 20.0
    """The same upwards."""
    min_values: int = 5
    """With fewer values than this, nothing can be said to be far from the bulk."""
    second_warp: float = 8.0
    """Warped values farther out than this, in interquartile ranges, are warped once more."""

    def __post_init__(self) -> None:
        for name in ("below", "above", "second_warp"):
            positive(getattr(self, name), name)
        integer(self.min_values, "min_values", 1)


@dataclass(frozen=True)
class ModelSettings:
    """How a model is fitted and searched."""

    max_data: int = 300
    """Values that a model is fitted to, because the work grows with their cube (`python -m benchmarks.latency`)."""
    num_neighbors: int = 5
    """Where there are more, those that are averaged to tell the best, so that luck with the noise does not decide."""
    warp: WarpSettings = field(default_factory=WarpSettings)
    least_noise: float = 1e-6
    """Without noise, values of standard deviation 1 still have this much: what float64 can tell apart."""
    most_noise: float = 1e6
    """With more noise than this, likewise, a value says nothing."""
    reference_lengthscale: float = 0.3
    reference_noise: float = 0.3
    """Of the weights of the prior mean (`design_weights`); the lengthscale times the root of the dimension."""
    num_candidates: int = 512
    """Points of the design that a search begins from (`python -m benchmarks.search`)."""
    max_centers: int = 6
    """Points that local candidates surround."""
    search: SearchSettings = field(default_factory=SearchSettings)
    """Of scores and of the posterior mean; an acquisition has its own for sample paths."""
    flat: float = 1e-9
    """Posterior means of y that differ by less are the same: then a point that was evaluated is recommended."""
    least_information: float = 1e-9
    """In nats: an evaluation that is expected to tell less tells nothing."""
    lookahead: int = 64
    """Points of the space-filling design that are looked at when the next ones are taken."""
    feasible_enough: float = 0.2
    """Of these the first is taken whose log probability of feasibility is this close to the best."""
    feasibility: FeasibilitySettings = field(default_factory=FeasibilitySettings)

    def __post_init__(self) -> None:
        for name in ("max_data", "num_neighbors", "num_candidates", "max_centers"):
            integer(getattr(self, name), name, 1)
        integer(self.lookahead, "lookahead", 2)
        for name in ("least_noise", "most_noise", "reference_lengthscale", "reference_noise", "flat",
                     "least_information", "feasible_enough"):  # fmt: skip
            positive(getattr(self, name), name)
        instance(self.warp, "warp", WarpSettings, "WarpSettings()")
        instance(self.search, "search", SearchSettings, "SearchSettings()")
        instance(self.feasibility, "feasibility", FeasibilitySettings, "FeasibilitySettings()")


@dataclass(frozen=True)
class Method:
    """How suggestions are made.

    Parameters
    ----------
    kernel : Kernel or tuple of Kernel
        Of the Gaussian process. Of several, the one is used under which the data are most probable, at the most
        probable hyperparameters.
    inference : Inference
        Of the hyperparameters: `SliceSampling`, `MAP`, `PosteriorMean` or `Fixed`.
    acquisition : Acquisition, optional
        What an evaluation is worth. With None, points are drawn at random (the model still recommends).
    model : ModelSettings
        How models are fitted and searched.

    Raises
    ------
    SettingsError
        If a part is not what it should be.

    Examples
    --------
    >>> import xstar
    >>> from xstar.acquisition import LogEI
    >>> from xstar.gp import MAP, Matern52
    >>> method = xstar.Method(Matern52(), MAP(), LogEI())
    >>> xstar.Optimizer([(0.0, 1.0)], method=method).method_name
    'logei'
    """

    kernel: Kernel | tuple[Kernel, ...] = (SquaredExponential(), Matern52())
    inference: Inference = field(default_factory=SliceSampling)
    acquisition: Acquisition | None = field(default_factory=PES)
    model: ModelSettings = field(default_factory=ModelSettings)

    def __post_init__(self) -> None:
        if isinstance(self.kernel, list | tuple):
            object.__setattr__(self, "kernel", tuple(self.kernel))
        if not self.kernels:
            raise SettingsError("kernel must be a kernel or several of them; received none.")
        for kernel in self.kernels:
            instance(kernel, "kernel", Kernel, "Matern52()")
        instance(self.inference, "inference", Inference, "SliceSampling(num_samples=10)")
        if self.acquisition is not None:
            instance(self.acquisition, "acquisition", Acquisition, "PES()")
        instance(self.model, "model", ModelSettings, "ModelSettings(max_data=300)")

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels to choose from."""
        return self.kernel if isinstance(self.kernel, tuple) else (self.kernel,)

    @property
    def standardizes(self) -> bool:
        """Whether y is standardized; with known hyperparameters it is used as told."""
        return not isinstance(self.inference, Fixed)


METHODS: dict[str, Callable[[], Method]] = {
    "pes": Method,
    "pes-nb": lambda: Method(inference=PosteriorMean()),
    "pes-2014": lambda: Method(acquisition=PES(boundary="paper", incumbent="paper", paths="weights")),
    "es": lambda: Method(acquisition=ES()),
    "ei": lambda: Method(acquisition=EI()),
    "logei": lambda: Method(acquisition=LogEI()),
    "thompson": lambda: Method(acquisition=Thompson()),
    "mes": lambda: Method(acquisition=MES()),
    "random": lambda: Method(acquisition=None),
}


def name_of(method: str | Method) -> str:
    """Return the name of a method, or of the acquisition of one that has none."""
    if isinstance(method, str):
        return method
    return "random" if method.acquisition is None else type(method.acquisition).__name__.lower()


def find_method(method: Any) -> Method:
    """Return the method with a name, or the given one."""
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in METHODS:
        names = ", ".join(f'"{name}"' for name in METHODS)
        raise SettingsError(f"method must be one of {names}, or a Method(...); received {method!r}.")
    return METHODS[method]()
