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
from xstar.gp import (
    Fixed,
    Gamma,
    Inference,
    Kernel,
    Matern52,
    PosteriorMean,
    Prior,
    SliceSampling,
    SquaredExponential,
)
from xstar.numerics.checks import instance, integer, not_negative, positive
from xstar.search import SearchSettings

__all__ = ["INDEPENDENT", "METHODS", "Balance", "Method", "ModelSettings", "WarpSettings", "find_method", "name_of"]


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
    warp: WarpSettings | tuple[WarpSettings, ...] = (WarpSettings(), WarpSettings(below=0.5))
    """Output transforms; of several, the one under which the values told are most probable."""
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
    caution: float = 1.0
    """A point that was not evaluated is recommended if it is known to be better than one that was: by this many
    standard deviations of the difference (`python -m benchmarks.campaign`)."""
    caution_among_tested: float = 0.5
    """So is a tested point that does not have the best value told."""
    noisy: float = 0.3
    """Noise, as a share of the amplitude, from which on values alone say so little that there is hardly any caution."""
    claims_power: float = 0.5
    """Of the likelihood of hyperparameters where something is claimed: what is left to gain, where the optimum is, how
    sure a recommendation is. Half of the evidence lets in explanations that the data have all but excluded, which a
    model that is wrong needs, and one that is right can afford (`python -m benchmarks.calibration`)."""
    sure: float = 0.95
    """With constraints, what is recommended is feasible with at least this probability, where anything is."""
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
        not_negative(self.caution, "caution")
        not_negative(self.caution_among_tested, "caution_among_tested")
        for name in ("claims_power", "least_noise", "most_noise", "reference_lengthscale", "reference_noise", "flat",
                     "noisy", "least_information", "feasible_enough"):  # fmt: skip
            positive(getattr(self, name), name)
        positive(self.sure, "sure", below=1.0)
        if isinstance(self.warp, list | tuple):
            object.__setattr__(self, "warp", tuple(self.warp))
        if not self.warps:
            raise SettingsError("warp must be WarpSettings or several of them; received none.")
        for warp in self.warps:
            instance(warp, "warp", WarpSettings, "WarpSettings()")
        instance(self.search, "search", SearchSettings, "SearchSettings()")
        instance(self.feasibility, "feasibility", FeasibilitySettings, "FeasibilitySettings()")

    @property
    def warps(self) -> tuple[WarpSettings, ...]:
        """The output transforms to choose from."""
        return self.warp if isinstance(self.warp, tuple) else (self.warp,)


@dataclass(frozen=True)
class Balance:
    """Which evaluations are spent on information, and which on good values.

    An acquisition that measures information about the optimum has no reason to evaluate the optimum itself. With a
    balance, a part of the suggestions is there to improve on the best point by LogEI, the recommendation is evaluated
    when it is known to be better than everything tested, and the other suggestions are those of the acquisition. The
    defaults were chosen by `python -m benchmarks.campaign`.

    Parameters
    ----------
    improve : float
        The share of suggestions that improve, from 0 to 1.
    improve_above : float
        They do so only while what may be left to find above the best tested point exceeds this many standard deviations
        of the noise: below that, another look at the best place says little and information tells more.
    least_gain : float
        And only if they are expected to gain at least this share of it: where much more may be left than the next step
        can bring, as at a lower one of several maxima, it is time to look elsewhere.
    confirm : float
        The recommendation is evaluated when what it is known to gain over the best tested point exceeds this many times
        what may be left to find beyond it; 0 never does.

    Examples
    --------
    >>> import xstar
    >>> from xstar.methods import Balance
    >>> only_information = xstar.Method(balance=None)
    >>> more_of_it = xstar.Method(balance=Balance(improve=0.25))
    """

    improve: float = 2.0 / 3.0
    improve_above: float = 0.1
    least_gain: float = 0.1
    confirm: float = 1.0

    def __post_init__(self) -> None:
        not_negative(self.improve, "improve", 1.0)
        not_negative(self.improve_above, "improve_above")
        not_negative(self.least_gain, "least_gain")
        not_negative(self.confirm, "confirm")


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
    balance : Balance, optional
        How an acquisition that measures information by sampled maxima (`PES`) shares the evaluations with improvement
        and confirmation; others are not balanced. With None, all suggestions are those of the acquisition.

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
    balance: Balance | None = field(default_factory=Balance)

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
        if self.balance is not None:
            instance(self.balance, "balance", Balance, "Balance()")

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels to choose from."""
        return self.kernel if isinstance(self.kernel, tuple) else (self.kernel,)

    @property
    def handles_several_outputs(self) -> bool:
        """Whether suggestions can be made for several outputs."""
        own = self.acquisition
        aware = isinstance(own, PES) and own.boundary == "aware" and own.incumbent == "latent" and own.paths == "exact"
        return own is None or aware or isinstance(own, EI | LogEI | Thompson)

    @property
    def standardizes(self) -> bool:
        """Whether y is standardized; with known hyperparameters it is used as told."""
        return not isinstance(self.inference, Fixed)


INDEPENDENT = Prior(lengthscale=Gamma(2.0, 2.0))
"""The prior of the methods that stay as the paper has them: every coordinate has a lengthscale of its own."""


def _as_published(acquisition: Acquisition, inference: Inference | None = None) -> Method:
    """A method as papers have it: nothing but its acquisition, recommending by the posterior mean alone."""
    sampling = inference or SliceSampling(prior=INDEPENDENT)
    plain = ModelSettings(caution=0.0, caution_among_tested=0.0, warp=WarpSettings())
    return Method(inference=sampling, acquisition=acquisition, model=plain, balance=None)


METHODS: dict[str, Callable[[], Method]] = {
    "pes": Method,
    "pes-alone": lambda: _as_published(PES()),
    "pes-nb": lambda: _as_published(PES(), PosteriorMean(SliceSampling(prior=INDEPENDENT))),
    "pes-2014": lambda: _as_published(PES(boundary="paper", incumbent="paper", paths="weights")),
    "es": lambda: _as_published(ES()),
    "ei": lambda: _as_published(EI()),
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
