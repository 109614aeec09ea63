"""A study at a glance: predicted values, expected information, values so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xstar.beliefs import OptimumPosterior
from xstar.optimizer import Optimizer
from xstar.views.figures.combinations import all_listed, draw_combinations
from xstar.views.figures.convergence import draw_values
from xstar.views.figures.front import draw_front
from xstar.views.figures.picture import Panel, Picture
from xstar.views.figures.view import draw_view


def draw_model(
    optimizer: Optimizer, names: Sequence[str] | None = None, where: OptimumPosterior | None = None
) -> Picture:
    """Return predictions and information over the parameters that matter most, or over combinations of choices."""
    if names is None and all_listed(optimizer):
        return draw_combinations(optimizer, where)
    return draw_view(optimizer, names, None, where)


def draw_summary(
    optimizer: Optimizer, names: Sequence[str] | None = None, where: OptimumPosterior | None = None
) -> Picture:
    """Return what the model says, with the values by trial in a column of their own."""
    if optimizer.goals is not None:
        return _of_outputs(optimizer, names, where or optimizer.where())
    values = draw_values(optimizer)
    if not optimizer.space.free:
        optimizer.recommend()  # complains if nothing has been told
        return Picture("Values", "", (values,), 1, size=(7.0, 4.2))
    model = draw_model(optimizer, names, where)
    rows, columns = model.rows, model.columns
    panels = (*model.panels[:columns], values, *model.panels[columns:])
    empty = frozenset(row * (columns + 1) + columns for row in range(1, rows))
    best = optimizer.recommend() if where is None else where.recommendation
    params = {name: best.params[name] for name in optimizer.space.parameters if name in optimizer.space.free}
    said = f"Recommended: {optimizer.space.show(params)}, value {best.value_in_words}"
    title = _title(optimizer)
    said = f"{said}. In the picture: {model.said}" if model.said else said
    return replace(model, panels=panels, columns=columns + 1, empty=empty, title=title, said=said)


def _of_outputs(optimizer: Optimizer, names: Sequence[str] | None, where: OptimumPosterior) -> Picture:
    """The front and how it was reached, then what the model predicts of every output."""
    assert optimizer.goals is not None, "of a study of several outputs"
    panels: list[Panel] = []
    said = []
    if len(optimizer.goals.names) > 1:
        front = draw_front(optimizer, where=where)
        panels += [replace(panel, title=front.title) for panel in front.panels]
        said.append(front.said)
    panels.append(draw_values(optimizer))
    first, columns = len(panels), 1
    if optimizer.space.free:
        model = draw_model(optimizer, names, where)
        columns = model.columns
        panels += model.panels
        said.append(model.said)
    columns = max(first, columns)
    empty = frozenset(range(first, columns))
    return Picture(
        _title(optimizer), "; ".join(filter(None, said)), tuple(panels), columns, empty=empty, size=(4.8, 3.9)
    )


def _title(optimizer: Optimizer) -> str:
    count = sum(trial.state in ("done", "failed") for trial in optimizer.trials)
    return f"After {count} {'evaluation' if count == 1 else 'evaluations'}"
