"""Pictures of a study, each with a sentence on how to read it."""

from __future__ import annotations

from collections.abc import Iterator

from xstar.errors import SettingsError
from xstar.views import figures
from xstar.views.drawing.static import to_svg
from xstar.views.figures.combinations import all_listed
from xstar.views.figures.optimum import MOST_PAIRED
from xstar.views.figures.picture import Field, Picture
from xstar.views.report.findings import Findings
from xstar.views.report.markup import box, element, section, text

WIDE = 6.0
"""A picture of more inches scrolls in a box of its own where the page is narrow: its letters stay legible."""
LEGIBLE, LARGEST = 62.0, 100.0
"""CSS pixels that an inch of such a picture has at least, and at most."""

FIELDS = (
    "Colors say which value the model predicts and, in the last panel, how much an evaluation would tell about where "
    "the optimum is, which may be wherever the sampled optima are."
)
CURVES = (
    "The line is the predicted value, and with 95 % probability the function is in the band around it; where the "
    "last curve is high, an evaluation would tell much about where the optimum is."
)
COMBINATIONS = (
    "A row is a combination of choices: how much an evaluation of it would tell about which one is best, and which "
    "value the model predicts, with its 95 % interval."
)
CONVERGENCE = (
    "The values in the order of the trials with what was recommended at the time, and what was left to gain beyond "
    "that: it is time to stop when the upper line is below what matters to you."
)
PAIRS = (
    "Each dot is a place where the optimum may be, given all results: a small cloud says that it is known, several "
    "clouds that it is not known which of them has it."
)
PARETO_SETS = (
    "Draws of the parameters that the best compromises have, given all results; the stars are the recommended ones. "
    "Where draws are and no star is, compromises may be missing that nobody knows yet."
)
MARGINALS = (
    "High bars are where the optimum probably is, given all results; a parameter whose bars cover its whole range is "
    "not known yet, or does not matter."
)
IMPORTANCE = (
    "A parameter with a long bar matters for the value or, in the second panel, for what an evaluation would tell "
    "about the optimum; a long stroke says that little is known of how much."
)
FRONT = (
    "Every point is a trial with its values. The stars are the compromises to choose from, as the model predicts them, "
    "and the faint steps are fronts that agree with all results: where they are far from the recommended one, better "
    "compromises may be found. Hypervolumes are what lies between a front and the reference point."
)
BOUND = (
    "Every point is a trial with its values; beyond the dashed line it is infeasible. The star is the recommended "
    "point as the model predicts it, and the dots are where the best feasible point may be, given all results."
)
VOLUMES = (
    "How much the values told dominate, which noise makes a little more than is true, and what was recommended at the "
    "time, as it was predicted; then the share that was left to gain beyond that: it is time to stop when the upper "
    "line is below what matters to you."
)
IMPORTANCE_OF_OUTPUTS = (
    "A parameter with a long bar matters for that output; a long stroke says that little is known of how much."
)
CALIBRATION = (
    "Every value is predicted from all the others: if the model is right, nineteen of twenty strokes cross the "
    "diagonal and, in the second panel, nineteen of twenty points are between the dashed lines."
)


def pictures(findings: Findings) -> str:
    """Return the section of pictures; without matplotlib, it says what to install."""
    try:
        shown = [_figure(picture, caption) for picture, caption in _drawn(findings)]
    except SettingsError as error:
        shown = [element("p", text(f"{str(error)[0].upper()}{str(error)[1:]}"))]
    return section("Pictures", *shown) if shown else ""


def _drawn(findings: Findings) -> Iterator[tuple[Picture, str]]:
    """What there is to see, with how to read it."""
    optimizer, where = findings.optimizer, findings.where
    if where is None:
        return
    free, goals = optimizer.space.free, optimizer.goals
    if goals is not None and len(goals.names) > 1:
        yield figures.draw_front(optimizer, where=where), FRONT if goals.several else BOUND
    if free:
        model = figures.draw_model(optimizer, None, where)
        fields = any(isinstance(mark, Field) for panel in model.panels for mark in panel.marks)
        yield model, COMBINATIONS if all_listed(optimizer) else FIELDS if fields else CURVES
    yield figures.draw_convergence(optimizer), VOLUMES if goals is not None and goals.several else CONVERGENCE
    if len(free) > 1 and (len(free) <= MOST_PAIRED or len(where.places) > 1):
        yield figures.draw_pairs(optimizer, None, where), PAIRS if findings.front is None else PARETO_SETS
    elif free:
        yield figures.draw_marginals(optimizer, where), MARGINALS if findings.front is None else PARETO_SETS
    if len(free) > 1:
        yield figures.draw_importance(optimizer), IMPORTANCE if goals is None else IMPORTANCE_OF_OUTPUTS
    if findings.calibrations:
        yield figures.draw_calibration(optimizer), CALIBRATION


def _figure(picture: Picture, caption: str) -> str:
    """A picture whose panels stand side by side or, where the page is narrow, one below the other."""
    apart = picture.apart()
    panels = [_panel(panel, f"{picture.title} {k}") for k, panel in enumerate(apart)]
    columns = picture.columns if len(apart) > 1 else 1
    said = [f"{picture.said[0].upper()}{picture.said[1:]}."] if picture.said else []
    return element(
        "figure",
        element("h3", text(picture.title)),
        element("div", *panels, class_="panels", style=f"--columns: {columns}"),
        element("figcaption", text(" ".join([caption, *said]))),
    )  # fmt: skip


def _panel(picture: Picture, name: str) -> str:
    drawn = to_svg(picture, name, titled=False)
    inches = picture.size[0] * picture.columns
    if inches <= WIDE:
        return element("div", drawn)
    width = f"min-width: {LEGIBLE * inches:.0f}px; max-width: {LARGEST * inches:.0f}px"
    return box(element("div", drawn, style=width), picture.title)
