"""Acquisition functions: what an evaluation at x is worth."""

from xstar.acquisition.base import Acquisition, Score
from xstar.acquisition.es import ES, ESSettings
from xstar.acquisition.hypervolume import JointLogEI
from xstar.acquisition.improvement import EI, LogEI
from xstar.acquisition.joint import JointPES
from xstar.acquisition.mes import MES
from xstar.acquisition.pes import PES, PESSettings
from xstar.acquisition.prepared import Prepared
from xstar.acquisition.thompson import Thompson

__all__ = [
    "EI",
    "ES",
    "MES",
    "PES",
    "Acquisition",
    "ESSettings",
    "JointLogEI",
    "JointPES",
    "LogEI",
    "PESSettings",
    "Prepared",
    "Score",
    "Thompson",
]
