"""Search on the unit cube."""

from xstar.search.box import BoxSearch, Maxima, Objective
from xstar.search.candidates import draw_candidates

__all__ = ["BoxSearch", "Maxima", "Objective", "draw_candidates"]
