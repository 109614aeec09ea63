"""What may be varied: parameters in the user's units, and their place in the unit cube."""

from xstar.space.parameters import Categorical, Integer, Parameter, Real
from xstar.space.space import Point, Space, SpaceLike

__all__ = ["Categorical", "Integer", "Parameter", "Point", "Real", "Space", "SpaceLike"]
