"""How much each parameter matters, for the values and for what evaluations tell."""

from __future__ import annotations

from xstar.optimizer import Optimizer
from xstar.views.figures.coordinates import short
from xstar.views.figures.picture import BLUE, PURPLE, Axis, Bars, Panel, Picture

TITLE = "Which parameters matter"
MOST_SHOWN = 20


def draw_importance(optimizer: Optimizer, num_points: int = 256) -> Picture:
    """Return a bar for each parameter: the share of a variance that it has a part in, with a 90 % interval."""
    found = optimizer.importance(num_points)
    names = found.ranked[:MOST_SHOWN]
    ticks = tuple((k, short(name)) for k, name in enumerate(names))
    labels = Axis("", -0.6, len(names) - 0.4, ticks=ticks, reversed=True)
    share = Axis("share of the variance that it has a part in", 0.0, 1.05, percent=True)
    panels = []
    for title, shares, color in (
        ("Of the values", found.values, BLUE),
        ("Of what an evaluation tells about the optimum", found.information, PURPLE),
    ):
        shown = [shares[name] for name in names]
        notes = [f"{name}: {one}" for name, one in zip(names, shown, strict=True)]
        bars = Bars(
            list(range(len(names))), [one.share for one in shown], colors=(color,), low=[one.low for one in shown],
            high=[one.high for one in shown], notes=notes, horizontal=True, thickness=0.65,
        )  # fmt: skip
        panels.append(Panel(title, share, labels, (bars,)))
    some = f"the first {len(names)} of {len(found.values)}; " if len(found.values) > len(names) else ""
    said = f"{some}shares add up to more than 100 % where parameters act together; strokes: 90 % intervals"
    return Picture(TITLE, said, tuple(panels), 2, size=(5.2, 1.3 + 0.32 * len(names)))
