"""xstar inside other tools: `xstar.integrations.optuna` has the sampler for Optuna, `dashboard` its figures."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xstar.integrations import optuna
    from xstar.integrations.optuna import dashboard

__all__ = ["dashboard", "optuna"]
_HOMES = {"dashboard": "xstar.integrations.optuna.dashboard", "optuna": "xstar.integrations.optuna"}


def __getattr__(name: str) -> Any:
    """Imported when first used: Optuna is not needed by anything else."""
    if name in __all__:
        return import_module(_HOMES[name])
    raise AttributeError(f"module 'xstar.integrations' has no attribute {name!r}")
