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
from xstar.gp import Fixed, Inference, Kernel, Matern52, PosteriorMean, SliceSampling, SquaredExponential
from xstar.numerics.checks import instance


@dataclass(frozen=True)
class Method:
    """How suggestions are made.

    Of several kernels, the one is used under which the data are most probable, at the most probable hyperparameters.
    Without an acquisition, points are drawn at random (the model still recommends).
    """

    kernel: Kernel | tuple[Kernel, ...] = (SquaredExponential(), Matern52())
    inference: Inference = field(default_factory=SliceSampling)
    acquisition: Acquisition | None = field(default_factory=PES)

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
