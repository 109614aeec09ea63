"""How well the model predicts: every value beside its prediction from all the others."""

from __future__ import annotations

import numpy as np

from xstar.beliefs import Calibration
from xstar.numerics.rounding import with_digits
from xstar.optimizer import Optimizer
from xstar.views.figures.coordinates import short
from xstar.views.figures.outputs import studies_of
from xstar.views.figures.picture import GREY, Axis, Kind, Line, Mark, Panel, Picture, Points, Rule
from xstar.views.figures.trials import MOST_POINTS, focus

TITLE = "How well the model predicts"
FIRST, SECOND = "Every value, predicted from the others", "How far off, in standard deviations"
WITHIN = 1.96
"""Standard deviations to both sides that hold 95 % of a Gaussian."""


def draw_calibration(optimizer: Optimizer) -> Picture:
    """Return predictions over values, and how far off they were by trial."""
    panels: list[Panel] = []
    said = []
    for name, study in studies_of(optimizer):
        found = study.calibration()
        if len(found):
            own, beyond = _panels(study, found, name)
            panels += own
            said.append(f"{f'{short(name)}: ' if name else ''}{found}{beyond}")
    if not panels:
        axes = Axis("told"), Axis("predicted from the others")
        return Picture(TITLE, "", (Panel("", *axes, (), "Tell at least three values."),), 1)
    return Picture(TITLE, "; ".join(said), tuple(panels), 2)


def _panels(optimizer: Optimizer, found: Calibration, name: str) -> tuple[tuple[Panel, Panel], str]:
    """The two panels of an output, and what is to be said of values that are not in the first one."""
    titles = [f"{short(name)}: {title[0].lower()}{title[1:]}" if name else title for title in (FIRST, SECOND)]
    span = focus(optimizer, 0.1)
    width = span.high - span.low
    wide = span.low - 0.3 * width, span.high + 0.3 * width
    values = found.values
    beyond = (values < span.low) | (values > span.high)
    inside = found.inside
    first: list[Mark] = [Line(list(span), list(span), "told as predicted", GREY, 1.2, dashed=True)]
    second: list[Mark] = [
        Rule(end, "95 % interval" if end > 0 else "", level=True, dashed=True) for end in (-WITHIN, WITHIN)
    ]
    for kind, chosen in ((Kind.TOLD, inside), (Kind.SURPRISE, ~inside)):
        picked = np.flatnonzero(chosen)[-MOST_POINTS:]
        shown = [k for k in picked if not beyond[k]]
        if shown:
            first.append(
                Points(
                    values[shown].tolist(),
                    np.clip(found.mean[shown], *wide).tolist(),
                    kind,
                    notes=[_note(found, k) for k in shown],
                    low=np.clip(found.low[shown], *wide).tolist(),
                    high=np.clip(found.high[shown], *wide).tolist(),
                )
            )
        if len(picked):
            numbers, notes = [found.trials[k].number for k in picked], [_note(found, k) for k in picked]
            second.append(Points(numbers, found.z[picked].tolist(), kind, notes=notes))
    most = max(3.2, 1.1 * float(np.max(np.abs(found.z))))
    last = max(trial.number for trial in found.trials)
    panels = (
        Panel(titles[0], Axis("told", *span), Axis("predicted", *wide), tuple(first)),
        Panel(
            titles[1], Axis("trial", -0.03 * last - 0.5, 1.03 * last + 0.5, whole=True),
            Axis("better than predicted: above 0", -most, most), tuple(second),
        ),
    )  # fmt: skip
    hidden = int(beyond.sum())
    far = f"; {hidden} far from the best {'is' if hidden == 1 else 'are'} not in the first panel" if hidden else ""
    return panels, far


def _note(found: Calibration, k: int) -> str:
    trial = found.trials[k]
    ends = f"{with_digits(float(found.low[k]), 4)} to {with_digits(float(found.high[k]), 4)}"
    return f"trial {trial.number}: {with_digits(trial.value or 0.0, 5)}\npredicted {ends}"
