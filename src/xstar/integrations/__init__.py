"""xstar inside other tools: `optuna` has its sampler, `dashboard` its figures, `sklearn` a search like its own."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xstar.integrations import optuna, sklearn
    from xstar.integrations.optuna import dashboard

__all__ = ["dashboard", "optuna", "sklearn"]
_HOMES = {
    "dashboard": "xstar.integrations.optuna.dashboard",
    "optuna": "xstar.integrations.optuna",
    "sklearn": "xstar.integrations.sklearn",
}


def __getattr__(name: str) -> Any:
    """Imported when first used: Optuna and scikit-learn are not needed by anything else."""
    if name in __all__:
        return import_module(_HOMES[name])
    raise AttributeError(f"module 'xstar.integrations' has no attribute {name!r}")
