"""What the pictures of a study show, whichever library draws them (`views.drawing`).

summary        a study at a glance
view           predicted values and information over one or two parameters; choices as panels
combinations   the same for a space of choices only
convergence    values or hypervolumes, recommendations, what was left to gain
front          two of several outputs against each other
optimum        draws of the optimum, by pairs of parameters or one by one
importance     how much each parameter matters
calibration    values beside their predictions
why            what the model says around a point
"""

from xstar.views.figures.calibration import draw_calibration
from xstar.views.figures.combinations import draw_combinations
from xstar.views.figures.convergence import draw_convergence
from xstar.views.figures.front import draw_front
from xstar.views.figures.importance import draw_importance
from xstar.views.figures.optimum import draw_marginals, draw_pairs
from xstar.views.figures.summary import draw_model, draw_summary
from xstar.views.figures.view import draw_view
from xstar.views.figures.why import draw_why

__all__ = [
    "draw_calibration",
    "draw_combinations",
    "draw_convergence",
    "draw_front",
    "draw_importance",
    "draw_marginals",
    "draw_model",
    "draw_pairs",
    "draw_summary",
    "draw_view",
    "draw_why",
]
