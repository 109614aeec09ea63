"""How much each parameter matters, for the values and for what evaluations tell."""

from __future__ import annotations

from xstar.beliefs import Importance
from xstar.optimizer import Optimizer
from xstar.views.figures.coordinates import short
from xstar.views.figures.outputs import studies_of
from xstar.views.figures.picture import BLUE, PURPLE, Axis, Bars, Panel, Picture

TITLE = "Which parameters matter"
MOST_SHOWN = 20


def draw_importance(optimizer: Optimizer, num_points: int = 256) -> Picture:
    """Return a bar for each parameter: the share of a variance that it has a part in, with a 90 % interval."""
    studies = [(name, study.importance(num_points)) for name, study in studies_of(optimizer)]
    found = studies[0][1]
    names = found.ranked[:MOST_SHOWN] if optimizer.goals is None else _ranked([one for _, one in studies])[:MOST_SHOWN]
    ticks = tuple((k, short(name)) for k, name in enumerate(names))
    labels = Axis("", -0.6, len(names) - 0.4, ticks=ticks, reversed=True)
    share = Axis("share of the variance that it has a part in", 0.0, 1.05, percent=True)
    panels = []
    shown_shares = [
        ("Of the values", found.values, BLUE),
        ("Of what an evaluation tells about the optimum", found.information, PURPLE),
    ]
    if optimizer.goals is not None:  # what one output tells of its own optimum says nothing of that of all
        shown_shares = [(f"Of {short(name)}", one.values, BLUE) for name, one in studies]
    for title, shares, color in shown_shares:
        shown = [shares[name] for name in names]
        notes = [f"{name}: {one}" for name, one in zip(names, shown, strict=True)]
        bars = Bars(
            list(range(len(names))), [one.share for one in shown], colors=(color,), low=[one.low for one in shown],
            high=[one.high for one in shown], notes=notes, horizontal=True, thickness=0.65,
        )  # fmt: skip
        panels.append(Panel(title, share, labels, (bars,)))
    some = f"the first {len(names)} of {len(found.values)}; " if len(found.values) > len(names) else ""
    said = f"{some}shares add up to more than 100 % where parameters act together; strokes: 90 % intervals"
    return Picture(TITLE, said, tuple(panels), min(len(panels), 3), size=(5.2, 1.3 + 0.32 * len(names)))


def _ranked(found: list[Importance]) -> list[str]:
    """The parameters, those first that matter most for any output."""
    return sorted(found[0].values, key=lambda name: -max(one.values[name].share for one in found))
