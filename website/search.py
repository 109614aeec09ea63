"""Draw the picture of README and of the home page: a search as it goes on, from a few values to a confirmed optimum.

    python -m website.search [folder]

The search is a real one, by the public API; without an argument the picture goes to docs/images. In rows: data and what
the model says of the function; where the optimum may be; what an evaluation is expected to tell about that.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import xstar
from website.png import save
from xstar.views.figures.picture import BLACK, BLUE, GREEN, ORANGE, PURPLE, YELLOW

NAME = "search.png"
NOISE, SEED, BUDGET = 0.1, 7, 14
STEPS = {
    4: "it may be anywhere",
    8: "a hill, but is it the highest?",
    9: "a higher one is found",
    BUDGET: "found, and confirmed",
}
"""After how many evaluations the search is shown, and what is seen then."""
ROWS = "what is measured,\nwhat the model says", "where the\noptimum may be", "what an evaluation\nwould tell"
GRID = np.linspace(0.0, 1.0, 301)
BINS = np.linspace(0.0, 1.0, 31)
VALUES = (-0.6, 1.6)
"""The range of values that is shown."""
TRUTH = "#777777"


def f(x: Any) -> Any:
    """Two hills; the right one is higher."""
    return 0.75 * np.exp(-(((x - 0.22) / 0.16) ** 2)) + np.exp(-(((x - 0.74) / 0.15) ** 2))


@dataclass(frozen=True)
class Step:
    """What is known after some evaluations."""

    x: Any
    y: Any
    mean: Any
    low: Any
    high: Any
    """The ends of 95 % intervals of the function."""
    bits: Any
    x_star: Any
    """Samples of the optimum."""
    recommended: xstar.Recommendation
    next_x: float | None
    """Where the next evaluation is; None after the last one."""


def search() -> dict[int, Step]:
    """Run the search; return what was known at each of `STEPS`."""
    rng = np.random.default_rng(SEED)
    opt = xstar.Optimizer([(0.0, 1.0)], seed=SEED, noise=NOISE)
    steps = {}
    for count in range(BUDGET):
        trial = opt.ask(last=count == BUDGET - 1)
        if count in STEPS:
            steps[count] = _step(opt, float(trial.x[0]))
        opt.tell(trial, float(f(trial.x[0])) + NOISE * float(rng.standard_normal()))
    steps[BUDGET] = _step(opt, None)
    return steps


def _step(opt: xstar.Optimizer, next_x: float | None) -> Step:
    known = opt.with_trials(trial for trial in opt.trials if trial.state == "done")
    points = [[float(x)] for x in GRID]
    mean, _ = known.predict(points)
    low, high = known.interval(points)
    where = known.where()
    return Step(
        np.array([trial.x[0] for trial in known.trials]), np.array([trial.value for trial in known.trials]),
        mean, low, high, known.information(points), np.array(where.params["x0"]), where.recommendation, next_x,
    )  # fmt: skip


def draw(steps: dict[int, Step]) -> Any:
    """Return the picture as a figure of matplotlib."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(12.0, 6.0), layout=ConstrainedLayoutEngine(w_pad=0.06, hspace=0.04))
    grid = figure.subplots(3, len(steps), sharex=True, sharey="row", height_ratios=(2.2, 1.0, 1.0))
    highest = max(float(np.max(step.bits)) for step in steps.values())
    for column, (count, step) in enumerate(steps.items()):
        values, places, bits = grid[:, column]
        values.set_title(f"{count} evaluations", loc="left", size=15, weight="bold", pad=26)
        values.text(0.0, 1.035, STEPS[count], transform=values.transAxes, size=12.5, color="#444444")
        _values(values, step)
        places.hist(step.x_star, bins=BINS, weights=np.full(len(step.x_star), 1 / len(step.x_star)), color=ORANGE)
        places.set_ylim(0.0, 0.7)
        bits.fill_between(GRID, 0.0, step.bits, color=PURPLE, alpha=0.45, lw=0)
        bits.plot(GRID, step.bits, color=PURPLE, lw=2)
        bits.set_ylim(0.0, 1.3 * highest)
        for axes in grid[:, column]:
            axes.set(xlim=(-0.02, 1.02), xticks=[], yticks=[])
            axes.spines[["top", "right", "left"]].set_visible(False)
            if step.next_x is not None:
                axes.axvline(step.next_x, color=GREEN, lw=2, ls=(0, (3, 2)), zorder=1)
        if step.next_x is not None:
            place, side = (step.next_x + 0.03, "left") if step.next_x < 0.6 else (step.next_x - 0.03, "right")
            bits.text(place, 1.12 * highest, "evaluate here", color="#006b4f", size=12, ha=side, va="center")
    for axes, name in zip(grid[:, 0], ROWS, strict=True):
        axes.set_ylabel(name, size=12.5, rotation=0, ha="right", va="center", labelpad=10, multialignment="right")
    handles: dict[str, Any] = {}
    for axes in grid[0]:
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower right", ncols=5, frameon=False, fontsize=12,
        handletextpad=0.5, columnspacing=1.6,
    )  # fmt: skip
    return figure


def _values(axes: Any, step: Step) -> None:
    low, high = (np.clip(end, VALUES[0] - 1.0, VALUES[1] + 1.0) for end in (step.low, step.high))
    axes.plot(GRID, f(GRID), color=TRUTH, lw=1.4, ls=(0, (4, 2)), label="the function, unknown", zorder=2)
    axes.fill_between(GRID, low, high, color=BLUE, alpha=0.18, lw=0, label="95 %")
    axes.plot(GRID, step.mean, color=BLUE, lw=2.4, label="the model expects")
    axes.plot(
        step.x, step.y, "o", color=BLACK, mfc="white", ms=7.5, mew=1.5, zorder=4, clip_on=False,
        label="measured, with noise",
    )  # fmt: skip
    if step.recommended.confirmed and step.next_x is None:
        axes.plot(
            step.recommended.x[0], step.recommended.mean, "*", color=YELLOW, mec=BLACK, mew=1.2, ms=23, zorder=6,
            ls="none", label="recommended",
        )  # fmt: skip
    axes.set_ylim(*VALUES)


def main(folder: Path) -> None:
    """Draw it."""
    save(draw(search()), folder / NAME, dpi=130)
    print(folder / NAME)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images")
