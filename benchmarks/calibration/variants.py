"""The models whose claims are compared, by name."""

from __future__ import annotations

from collections.abc import Callable

from xstar import Method
from xstar.methods import ModelSettings

VARIANTS: dict[str, Callable[[], Method]] = {
    "default": Method,
    # Claims of the model that suggests, which believes all of its evidence.
    "sure": lambda: Method(model=ModelSettings(claims_power=1.0)),
    "wary": lambda: Method(model=ModelSettings(claims_power=0.35)),
}
