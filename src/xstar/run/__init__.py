"""One call: maximize or minimize a Python function, with a progress bar and reasons to stop."""

from xstar.run.calls import maximize, minimize, optimize
from xstar.run.result import MESSAGES, Result, StopReason

__all__ = ["MESSAGES", "Result", "StopReason", "maximize", "minimize", "optimize"]
