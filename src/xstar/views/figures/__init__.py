"""Interactive figures of a study, for the dashboard: where to look next, where the optimum is, what is left to gain.

They need plotly, which is imported when a figure is drawn. Optuna stores a figure in its database in small pieces, so
that figures are kept small: coarse grids, rounded numbers, no template, at most a few hundred trials.
"""

from xstar.views.figures.information import draw_information
from xstar.views.figures.optimum import draw_optimum
from xstar.views.figures.regret import draw_regret

__all__ = ["draw_information", "draw_optimum", "draw_regret"]
