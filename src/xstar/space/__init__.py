"""What may be varied: parameters in the user's units, and their place in the unit cube."""

from xstar.space.listed import Categorical, Listed, Ordinal, same
from xstar.space.parameters import Integer, Parameter, Real, naming
from xstar.space.space import Point, Space, SpaceLike

__all__ = [
    "Categorical",
    "Integer",
    "Listed",
    "Ordinal",
    "Parameter",
    "Point",
    "Real",
    "Space",
    "SpaceLike",
    "naming",
    "same",
]
