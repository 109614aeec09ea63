"""Where could the maximum be? Sample paths of a GP posterior, each with its maximizer.

    python -m examples.sample_paths [picture.png]

Every path is a function that agrees with the data so far. Where the paths have their maxima is what the data say
about the maximum of the unknown function, and what the next evaluation should tell more about.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from xstar.gp import MAP, Matern52, Posterior, SquaredExponential, draw_paths
from xstar.search import BoxSearch, Maxima, draw_candidates

NOISE = 0.05


def wiggle(x: Any) -> Any:
    """A function of one variable with two rival hills."""
    return np.sin(9.0 * x[:, 0]) + 0.8 * x[:, 0]


def ridge(x: Any) -> Any:
    """A function of two variables that rises towards a face of the square."""
    return np.exp(-8.0 * (x[:, 1] - 0.4) ** 2) * (0.6 + x[:, 0]) + 0.4 * np.sin(7.0 * x[:, 0])


def maximizers(post: Posterior, count: int, rng: np.random.Generator) -> tuple[Any, Maxima]:
    """Paths drawn from the posterior, and the maximum of each."""
    paths = draw_paths(post, count, rng)
    best = post.data.X[[int(np.argmax(post.data.y))]]
    return paths, BoxSearch().maximize(paths, draw_candidates(512, post.data.X, rng, around=best))


def draw_one_dimension(top: Any, bottom: Any, rng: np.random.Generator) -> None:
    """Paths with their maxima above, a histogram of the maximizers below."""
    X = np.array([[0.03], [0.11], [0.33], [0.5], [0.7], [0.78]])
    y = wiggle(X) + NOISE * rng.standard_normal(len(X))
    hyper = MAP().infer(SquaredExponential(), X, y, rng).hyper.take(np.array([0]))
    post = Posterior(SquaredExponential(), hyper, X, y)
    paths, found = maximizers(post, 400, rng)
    grid = np.linspace(0.0, 1.0, 300)[:, None]
    mean, variance = (part[0] for part in post.predict(grid))
    top.fill_between(grid[:, 0], mean - 2 * np.sqrt(variance), mean + 2 * np.sqrt(variance), color="0.9")
    top.plot(grid[:, 0], paths(grid)[0, :12].T, lw=0.8, alpha=0.8)
    top.plot(found.x[:12, 0], found.value[:12], "v", color="black", ms=5, label="maximum of a path")
    top.plot(X[:, 0], y, "o", color="black", mfc="white", ms=6, label="data")
    top.set(title="12 of 400 sample paths", ylabel="f(x)", xlim=(-0.02, 1.02))
    top.legend(loc="upper center", fontsize=8)
    bottom.hist(found.x[:, 0], bins=np.linspace(0.0, 1.0, 51), color="tab:red")
    bottom.set(xlabel="x", ylabel="maximizers", xlim=(-0.02, 1.02))


def draw_two_dimensions(axes: Any, rng: np.random.Generator) -> float:
    """Posterior mean and maximizers; returns the share of maximizers on a face of the square."""
    X = rng.random((12, 2))
    y = ridge(X) + NOISE * rng.standard_normal(12)
    hyper = MAP().infer(Matern52(), X, y, rng).hyper.take(np.array([0]))
    post = Posterior(Matern52(), hyper, X, y)
    _, found = maximizers(post, 400, rng)
    on_face = found.active.any(axis=1)
    side = np.linspace(0.0, 1.0, 80)
    grid = np.stack(np.meshgrid(side, side, indexing="xy"), axis=-1).reshape(-1, 2)
    mean = post.predict(grid)[0][0].reshape(80, 80)
    axes.contourf(side, side, mean, levels=20, cmap="Greys_r", alpha=0.6)
    for rows, color, label in ((~on_face, "tab:blue", "interior"), (on_face, "tab:red", "on a face")):
        axes.plot(*found.x[rows].T, "o", color=color, ms=4, alpha=0.5, label=f"maximizer, {label}", clip_on=False)
    axes.plot(*X.T, "o", color="black", mfc="white", ms=6, label="data")
    axes.set(title="400 maximizers, posterior mean in grey", xlabel="x\N{SUBSCRIPT ONE}", ylabel="x\N{SUBSCRIPT TWO}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize=8, frameon=False)
    return float(on_face.mean())


def main(path: Path) -> None:
    """Draw the picture and say where it is."""
    rng = np.random.default_rng(7)
    figure, axes = plt.subplot_mosaic(
        [["paths", "square"], ["histogram", "square"]], figsize=(11, 5), height_ratios=[3, 1]
    )
    draw_one_dimension(axes["paths"], axes["histogram"], rng)
    share = draw_two_dimensions(axes["square"], rng)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print("Drew 400 posterior paths in one and 400 in two dimensions and maximized every one of them.")
    print(
        f"In two dimensions {share:.0%} of the maximizers lie on a face of the square, where the gradient is not zero."
    )
    print(f"Picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("output") / "sample_paths.png")
