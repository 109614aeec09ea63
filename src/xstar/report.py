"""A study as a page; see `xstar.views.report`."""

from xstar.views.report import write_report

__all__ = ["write_report"]
