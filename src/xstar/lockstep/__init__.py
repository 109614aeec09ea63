"""Many optimizations that take every step together, on a GPU if there is one."""

import warnings
from typing import Any

from xstar.lockstep.steps import Belief, LockstepSettings, Problems, Record, run
from xstar.lockstep.streams import Streams

__all__ = ["Belief", "LockstepSettings", "Problems", "Record", "Streams", "run"]


def __getattr__(name: str) -> Any:
    """Old names."""
    if name == "Study":
        warnings.warn("xstar.lockstep.Study is now xstar.lockstep.Problems.", DeprecationWarning, stacklevel=2)
        return Problems
    raise AttributeError(f"module 'xstar.lockstep' has no attribute {name!r}")
