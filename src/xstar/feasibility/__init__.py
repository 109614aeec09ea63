"""The probability that an evaluation is feasible, learned from those that failed, and what follows for a search."""

from xstar.feasibility.model import Feasibility, FeasibilitySettings
from xstar.feasibility.penalized import Penalized

__all__ = ["Feasibility", "FeasibilitySettings", "Penalized"]
