"""Pictures of a study; see `xstar.views.plots`."""

from xstar.views.plots import draw, summary

__all__ = ["draw", "summary"]
