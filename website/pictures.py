"""Draw the pictures of "How it decides": a function of one variable, step by step from its posterior to the next point.

    python -m website.pictures [folder]

Without an argument they go where the page finds them, docs/images.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from website.png import save
from xstar.acquisition import PES
from xstar.gp import Hyperparameters, Paths, Posterior, SquaredExponential, draw_paths
from xstar.search import BoxSearch, Maxima, draw_candidates

NOISE = 0.05
X = np.array([[0.05], [0.22], [0.42], [0.60], [0.93]])
Y = np.array([0.10, 0.72, 0.18, 0.50, -0.25])
GRID = np.linspace(0.0, 1.0, 401)[:, None]
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "0.45"
"""Colors that remain different for color-blind readers [Okabe and Ito]."""
PLACES = ((0.16, 0.26, ORANGE), (0.64, 0.80, GREEN))
"""Where the maximum of many paths is: left and right."""
COUNT = 4000


class Story:
    """What all pictures show: data, their posterior, draws of the function, and the maximizer of each."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        hyper = Hyperparameters(lengthscales=[0.13], amplitude=0.8, noise=NOISE)
        self.post = Posterior(SquaredExponential(), hyper, X, Y)
        self.mean, variance = self.post.predict(GRID)
        self.sd = np.sqrt(variance)
        self.paths: Paths = draw_paths(self.post, COUNT, rng)
        self.maxima: Maxima = BoxSearch().maximize(self.paths, draw_candidates(256, X, rng))
        self.values = np.asarray(self.paths(GRID))
        score = PES(num_samples=400).prepare(self.post, rng)
        self.bits = np.asarray(score(GRID)) / np.log(2.0)

    @property
    def x_star(self) -> Any:
        """The maximizers."""
        return np.asarray(self.maxima.x)[:, 0]


def posterior(story: Story, axes: Any) -> None:
    """Draw what the model says about the function."""
    _band(axes, story.mean, story.sd, BLUE, "what the model expects, ± 2 sd")
    axes.legend(loc="lower left", frameon=False)


def paths(story: Story, axes: Any) -> None:
    """Draw some functions that agree with the data, and their maxima."""
    axes.plot(GRID[:, 0], story.values[:10].T, color=BLUE, lw=0.9, alpha=0.7)
    axes.plot(story.x_star[:10], np.asarray(story.maxima.value)[:10], "v", color="black", ms=7, label="its maximum, x⋆")
    axes.legend(loc="lower left", frameon=False)


def given(story: Story, axes: Any) -> None:
    """Draw what the model would say if it knew where the maximum is."""
    axes.fill_between(
        GRID[:, 0], story.mean - 2 * story.sd, story.mean + 2 * story.sd, color="0.9", lw=0, label="not knowing"
    )
    for low, high, color in PLACES:
        chosen = story.values[(story.x_star >= low) & (story.x_star <= high)]
        _band(axes, chosen.mean(axis=0), chosen.std(axis=0), color, f"if x⋆ is from {low:g} to {high:g}")
    axes.legend(loc="lower left", frameon=False)


def information(story: Story, axes: Any) -> None:
    """Draw how much an evaluation tells, and where it tells most."""
    best = float(GRID[int(np.argmax(story.bits)), 0])
    axes.fill_between(GRID[:, 0], 0.0, story.bits, color=BLUE, alpha=0.25, lw=0)
    axes.plot(GRID[:, 0], story.bits, color=BLUE, lw=2)
    axes.axvline(best, color=ORANGE, ls="--", lw=1.5, label=f"evaluate here, x = {best:.2f}")
    axes.hist(
        story.x_star, bins=np.linspace(0.0, 1.0, 61), color=GREY, alpha=0.5, label="share of x⋆ (own scale)",
        weights=np.full(COUNT, 6.0 * float(story.bits.max()) / COUNT),
    )  # fmt: skip
    axes.set(ylabel="bits about x⋆", ylim=(0.0, 1.3 * float(story.bits.max())))
    axes.legend(loc="upper right", frameon=False)


PICTURES: dict[str, Callable[[Story, Any], None]] = {
    "posterior": posterior, "paths": paths, "given": given, "information": information,
}  # fmt: skip


def _band(axes: Any, mean: Any, sd: Any, color: str, label: str) -> None:
    axes.fill_between(GRID[:, 0], mean - 2 * sd, mean + 2 * sd, color=color, alpha=0.2, lw=0)
    axes.plot(GRID[:, 0], mean, color=color, lw=2, label=label)


def main(folder: Path) -> None:
    """Draw all of them."""
    from matplotlib.figure import Figure

    story = Story()
    for name, draw in PICTURES.items():
        figure = Figure(figsize=(8, 3.6), layout="constrained")
        axes = figure.subplots()
        draw(story, axes)
        if name != "information":
            axes.plot(X[:, 0], Y, "o", color="black", mfc="white", ms=8, mew=1.5, zorder=5)
            axes.set(ylabel="f(x)", ylim=(-1.7, 2.2))
        axes.set(xlabel="x", xlim=(-0.01, 1.01))
        axes.spines[["top", "right"]].set_visible(False)
        save(figure, folder / f"decides-{name}.png", dpi=120)
        print(folder / f"decides-{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "images")
