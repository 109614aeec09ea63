"""xstar finds the maximizer of an expensive, noisy black-box function in few evaluations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xstar.version import __version__

if TYPE_CHECKING:
    from xstar import acquisition, errors, gp, integrations, lockstep, plots, report, search
    from xstar.beliefs import Calibration, FrontPosterior, Importance, OptimumPosterior, ParetoFront
    from xstar.errors import DegradedWarning, SpaceExhausted, XstarError
    from xstar.goals import Constraint, Objective
    from xstar.methods import Method
    from xstar.optimizer import Optimizer
    from xstar.run import Result, maximize, minimize, optimize
    from xstar.space import Categorical, Integer, Ordinal, Real, Space
    from xstar.trial import Explanation, Forecast, Recommendation, Trial, Value

__all__ = [
    "Calibration",
    "Categorical",
    "Constraint",
    "DegradedWarning",
    "Explanation",
    "Forecast",
    "FrontPosterior",
    "Importance",
    "Integer",
    "Method",
    "Objective",
    "Optimizer",
    "OptimumPosterior",
    "Ordinal",
    "ParetoFront",
    "Real",
    "Recommendation",
    "Result",
    "Space",
    "SpaceExhausted",
    "Trial",
    "Value",
    "XstarError",
    "__version__",
    "acquisition",
    "errors",
    "gp",
    "integrations",
    "lockstep",
    "maximize",
    "methods",
    "minimize",
    "optimize",
    "plots",
    "report",
    "search",
]
_HOMES = {
    "errors": ("DegradedWarning", "SpaceExhausted", "XstarError"),
    "methods": ("Method",),
    "optimizer": ("Optimizer",),
    "run": ("Result", "maximize", "minimize", "optimize"),
    "space": ("Categorical", "Integer", "Ordinal", "Real", "Space"),
    "beliefs": ("Calibration", "FrontPosterior", "Importance", "OptimumPosterior", "ParetoFront"),
    "goals": ("Constraint", "Objective"),
    "trial": ("Explanation", "Forecast", "Recommendation", "Trial", "Value"),
}


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: `import xstar` alone costs nothing."""
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is not None:
        return getattr(import_module(f"xstar.{home}"), name)
    if name in __all__:
        return import_module(f"xstar.{name}")
    raise AttributeError(f"module 'xstar' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
