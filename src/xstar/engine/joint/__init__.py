"""From trials with several outputs to a suggestion, and to what is known about their optimum.

Every output has a model of its own, fitted as for one; what they say together is here.

trials -> evidence -> models -> suggest
                             -> answers
"""

from xstar.engine.joint import answers
from xstar.engine.joint.evidence import JointEvidence, gather_each, of_output
from xstar.engine.joint.model import JointModel, JointModels
from xstar.engine.joint.suggest import suggest_jointly

__all__ = ["JointEvidence", "JointModel", "JointModels", "answers", "gather_each", "of_output", "suggest_jointly"]
