"""xstar finds the maximizer of an expensive, noisy black-box function in few evaluations."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from xstar.version import __version__ as __version__

if TYPE_CHECKING:
    from xstar.errors import DegradedWarning as DegradedWarning
    from xstar.errors import SpaceExhausted as SpaceExhausted
    from xstar.errors import XstarError as XstarError
    from xstar.methods import Method as Method
    from xstar.optimizer import Optimizer as Optimizer
    from xstar.run import Result as Result
    from xstar.run import maximize as maximize
    from xstar.run import minimize as minimize
    from xstar.run import optimize as optimize
    from xstar.space import Categorical as Categorical
    from xstar.space import Integer as Integer
    from xstar.space import Real as Real
    from xstar.space import Space as Space
    from xstar.trial import Explanation as Explanation
    from xstar.trial import OptimumPosterior as OptimumPosterior
    from xstar.trial import Recommendation as Recommendation
    from xstar.trial import Trial as Trial

_HOMES = {
    "DegradedWarning": "errors",
    "SpaceExhausted": "errors",
    "XstarError": "errors",
    "Method": "methods",
    "Optimizer": "optimizer",
    "Result": "run",
    "maximize": "run",
    "minimize": "run",
    "optimize": "run",
    "Categorical": "space",
    "Integer": "space",
    "Real": "space",
    "Space": "space",
    "Explanation": "trial",
    "OptimumPosterior": "trial",
    "Recommendation": "trial",
    "Trial": "trial",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: `import xstar` alone costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'xstar' has no attribute {name!r}")
    return getattr(import_module(f"xstar.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
