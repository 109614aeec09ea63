"""The figures, as PNG and PDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.course import START
from experiments.methods import CONTENDERS, FIGURED
from experiments.problems import TITLES, find_problem
from experiments.statistics import band
from experiments.store import Curves, Results
from experiments.surfaces import TRUTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPERS = ("pes-2014", "pes-nb", "es", "ei")
"""The curves of the paper; ours is drawn thick, the others thin and dashed."""
WIDTH, HEIGHT = 3.9, 3.5
COLUMNS = 3


def draw_surfaces(content: dict[str, Any]) -> Figure:
    """Figure 1: one panel for each estimate, each with its own colors, as only the shape matters."""
    figure, axes = _panels(len(content["surfaces"]), 2, width=4.6, height=3.9)
    side, points = content["side"], np.array(content["measured_at"])
    for axis, (name, surface) in zip(axes, content["surfaces"].items(), strict=True):
        values = np.array(surface).reshape(side, side).T
        # A value stands in the middle of its cell, and the outermost ones on the border of the square.
        half = 0.5 / (side - 1)
        extent = (-half, 1 + half, -half, 1 + half)
        picture = axis.imshow(values, origin="lower", extent=extent, cmap="viridis", interpolation="bilinear")
        figure.colorbar(picture, ax=axis, fraction=0.046, pad=0.03).ax.tick_params(labelsize=8)
        axis.plot(points[:, 0], points[:, 1], "x", color="white", markersize=6, markeredgewidth=1.6, clip_on=False)
        likeness = content["likeness"][0].get(name)
        title = "rejection sampling (RS)" if name == TRUTH else f"{name}: r = {likeness['pearson']:.3f}"
        axis.set_title(title, fontsize=10)
        axis.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), xlim=(0, 1), ylim=(0, 1))
    return _finished(figure)


def draw_within_model(curves: dict[str, Curves]) -> Figure:
    """Figure 2: an example of the functions, and the regrets."""
    figure, axes = _panels(2, 2, width=4.6, height=3.9)
    problem = find_problem("within-model", 0)
    axis = np.linspace(0.0, 1.0, 101)
    X = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    values = problem.values(X).reshape(101, 101).T
    picture = axes[0].contourf(axis, axis, values, levels=24, cmap="viridis")
    figure.colorbar(picture, ax=axes[0], fraction=0.046, pad=0.03)
    axes[0].plot(*problem.maximizer, marker="*", color="red", markersize=12, clip_on=False)
    axes[0].set_title("a function of the model and its maximum", fontsize=9)
    axes[0].set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), aspect="equal")
    _regrets(axes[1], "within-model", curves)
    axes[1].legend(fontsize=7)
    return _finished(figure)


def draw_problems(results: Results) -> Figure:
    """Figures 3 and 4: a panel of regrets for each problem, and one legend."""
    count = len(results)
    figure, axes = _panels(count + (count > COLUMNS), min(COLUMNS, count))
    for axis, (problem, curves) in zip(axes, results.items(), strict=False):
        _regrets(axis, problem, curves)
    labeled = [dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True)) for axis in axes[:count]]
    drawn = {label: line for lines in labeled for label, line in lines.items()}
    if count > COLUMNS:
        axes[count].axis("off")
        axes[count].legend(drawn.values(), drawn, loc="center", fontsize=9)
    elif drawn:
        axes[0].legend(drawn.values(), drawn, fontsize=7)
    return _finished(figure)


def _regrets(axis: Axes, problem: str, curves: dict[str, Curves]) -> None:
    """log10 of the median regret of each method after every evaluation, with its band."""
    for name in (name for name in FIGURED if name in curves):
        contender = CONTENDERS[name]
        middle, sd = band(curves[name])
        steps = START + np.arange(len(middle))
        ours, papers = name == "xstar", name in PAPERS
        width, style = (2.4 if ours else 1.4 if papers else 1.0), ("-" if ours or papers else "--")
        axis.plot(steps, middle, style, color=contender.color, linewidth=width, label=contender.title, zorder=2 + ours)
        axis.fill_between(steps, middle - sd, middle + sd, color=contender.color, alpha=0.15, linewidth=0)
    axis.set_title(f"{TITLES[problem]}{_repeats(curves)}", fontsize=9)
    axis.locator_params(axis="x", integer=True)
    axis.set_xlabel("evaluations", fontsize=8)
    axis.set_ylabel("log10 median immediate regret", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25)


def _repeats(curves: dict[str, Curves]) -> str:
    """How many there are: what most methods have, and those that have another number."""
    counts = {name: len(method.repeats) for name, method in curves.items() if name in FIGURED}
    if not counts:
        return ""
    usual = max(dict.fromkeys(counts.values()), key=list(counts.values()).count)
    others = [f"{CONTENDERS[name].title}: {count}" for name, count in counts.items() if count != usual]
    return f", {usual} repeats" + (f" ({', '.join(others)})" if others else "")


def _panels(count: int, columns: int, width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, list[Axes]]:
    # Not through pyplot: no window, no state, whatever the machine.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows))
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for axis in axes[count:]:
        axis.axis("off")
    return figure, axes[:count]


def _finished(figure: Figure) -> Figure:
    figure.tight_layout()
    return figure


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and PDF, the same bytes every time."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.pdf"]
    figure.savefig(paths[0], dpi=150, metadata={"Software": None})
    figure.savefig(paths[1], metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return paths
