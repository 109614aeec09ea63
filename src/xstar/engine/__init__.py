"""From trials to a suggestion, and to what is known about the optimum.

trials -> evidence -> scaling -> fit -> model -> suggest     (every fallback is in `suggest`)
-> answers      (recommendation, where the optimum is, explanation)
"""

from xstar.engine import answers
from xstar.engine.cache import Models
from xstar.engine.evidence import Evidence, gather
from xstar.engine.model import Model
from xstar.engine.settings import Settings

__all__ = ["Evidence", "Model", "Models", "Settings", "answers", "gather"]
