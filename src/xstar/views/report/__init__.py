"""A study as one page that needs nothing else: the answer first, pictures, surprises, trials, settings.

findings    what the page is written of, computed once
words       the answer, and what surprised the model
pictures    pictures with how to read them
trials      all trials as a table, and as a CSV file
facts       settings, parameters, versions
page        all of it in one file, with page.css and page.js
markup      elements, in which every text is escaped
"""

from xstar.views.report.page import write_report

__all__ = ["write_report"]
