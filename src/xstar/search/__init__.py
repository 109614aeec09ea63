"""Search on the unit cube and its legal points."""

from xstar.search.box import BoxSearch, Maxima, Objective
from xstar.search.candidates import draw_candidates, draw_grouped, inside_cube
from xstar.search.domain import Choice, Domain, Interval, Lattice, cube
from xstar.search.mixed import MixedSearch
from xstar.search.points import SAME_POINT, Points
from xstar.search.region import Region, Restriction
from xstar.search.scalarized import Scalarized, Screened, maximize_scalarized
from xstar.search.settings import SearchSettings

__all__ = [
    "SAME_POINT",
    "BoxSearch",
    "Choice",
    "Domain",
    "Interval",
    "Lattice",
    "Maxima",
    "MixedSearch",
    "Objective",
    "Points",
    "Region",
    "Restriction",
    "Scalarized",
    "Screened",
    "SearchSettings",
    "cube",
    "draw_candidates",
    "draw_grouped",
    "inside_cube",
    "maximize_scalarized",
]
