"""Pictures of a study; see `xstar.views.plots`."""

from xstar.views.plots import calibration, convergence, draw, front, importance, marginals, pairs, summary, view, why

__all__ = ["calibration", "convergence", "draw", "front", "importance", "marginals", "pairs", "summary", "view", "why"]
