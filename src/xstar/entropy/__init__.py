"""What knowing the maximizer would tell: draws of x_star, constraints at it, EP, the conditioned prediction."""

from xstar.entropy.conditioned import Conditioned, ConditioningSettings, condition
from xstar.entropy.constraints import Constraints, constrain
from xstar.entropy.ep import EPSettings, Sites, expectation_propagation
from xstar.entropy.functionals import Functionals
from xstar.entropy.maximizers import Maximizers, MaximizerSettings, draw_maximizers
from xstar.entropy.optima import Optima, draw_optima

__all__ = [
    "Conditioned",
    "ConditioningSettings",
    "Constraints",
    "EPSettings",
    "Functionals",
    "MaximizerSettings",
    "Maximizers",
    "Optima",
    "Sites",
    "condition",
    "constrain",
    "draw_maximizers",
    "draw_optima",
    "expectation_propagation",
]
