"""Two chemical problems: Hydrogen from a table that the user has, and Fullerenes, which stands in for it.

    python -m experiments.sampling.chemistry

The paper's Hydrogen is the hydrogen production of a bacterium against pH and nitrogen [Burrows et al., 2009]. Its
measurements are not to be had from a public package, so they are read from a CSV file with the columns pH, nitrogen
and hydrogen, one row for each measurement, if there is one (see `hydrogen_truth`).

Fullerenes are another chemistry: the mole fraction of the wanted adducts of C60 against reaction time (3 to 31
minutes), the ratio of sultine to C60 (1.5 to 6) and temperature (100 to 150 degrees Celsius), three inputs instead of
two, 246 measurements of 216 mixtures [Walker et al., React. Chem. Eng. 2 (2017), 785]. This is real and noisy like
Hydrogen, but it is not Hydrogen. The measurements are read from the package mopti and are not kept here:
experiments/data/fullerenes.npz holds what the fitted GP says at points of our own, close enough together that a GP
through them repeats its mean; that GP is the ground truth.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np

from experiments.sampling.truth import DATA, Rows, Truth, fit, save
from xstar.gp import Hyperparameters

SEED = 2014_02
HYDROGEN = ("pH", "nitrogen", "hydrogen")
FULLERENES = ("reaction_time", "sultine", "temperature", "product")
FULLERENE_RANGES = ((3.0, 31.0), (1.5, 6.0), (100.0, 150.0))
FEWEST = 10
"""Measurements that a GP is fitted to."""
KNOTS = 8
"""Points of our own along each coordinate."""
FOLLOWED = 1e-4
"""How far the GP through them may stay from the mean there, against its amplitude: enough for safe algebra."""


def read_table(path: Path, columns: tuple[str, ...]) -> Rows:
    """The named columns of a CSV file with a header, upper or lower case; shape (rows, columns)."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = list(csv.reader(file, strict=True)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f'"{path}" cannot be read as a CSV file: {error}.') from error
    names = [name.strip().lower() for name in header]
    missing = [name for name in columns if name.lower() not in names]
    if missing:
        raise ValueError(
            f'"{path}" must have the columns {", ".join(columns)} in its first line; it lacks {", ".join(missing)} '
            f"(found: {', '.join(header) or 'nothing'})."
        )
    places = [names.index(name.lower()) for name in columns]
    table = []
    for line, row in enumerate(rows, start=2):
        if not any(cell.strip() for cell in row):
            continue
        try:
            numbers = [float(row[place]) for place in places]
        except (IndexError, ValueError) as error:
            raise ValueError(f'"{path}", row {line}: {", ".join(columns)} must be numbers; received {row}.') from error
        if not np.all(np.isfinite(numbers)):
            raise ValueError(f'"{path}", row {line}: {", ".join(columns)} must be finite; received {row}.')
        table.append(numbers)
    if len(table) < FEWEST:
        raise ValueError(f'"{path}" has {len(table)} measurements; a ground truth needs at least {FEWEST}.')
    return np.array(table)


def hydrogen_truth(path: Path) -> Truth:
    """A GP fitted to all of the user's measurements; the unit square is the range of what was measured."""
    table = read_table(path, HYDROGEN)
    inputs, y = table[:, :-1], table[:, -1]
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    if not np.all(high > low) or np.ptp(y) == 0.0:
        raise ValueError(f'"{path}": each of {", ".join(HYDROGEN)} must have at least two different values.')
    return fit((inputs - low) / (high - low), y, SEED)


def measured_fullerenes() -> Truth:
    """A GP fitted to all of the measurements, out of the package mopti, which need not be imported for it."""
    name = "opti/problems/data/fullerenes.csv"
    try:
        files = metadata.files("mopti") or []
    except metadata.PackageNotFoundError as error:
        raise RuntimeError(
            "the measurements come with the package mopti; install it with: pip install mopti"
        ) from error
    found = [file for file in files if file.as_posix() == name]
    if not found:
        raise RuntimeError(f"{name} is not in mopti {metadata.version('mopti')}; version 0.10.11 had it.")
    table = read_table(Path(str(found[0].locate())), FULLERENES)
    low, high = np.transpose(FULLERENE_RANGES)
    return fit((table[:, :-1] - low) / (high - low), table[:, -1], SEED)


def own_points(dimension: int) -> Rows:
    """A grid that is denser towards the faces (Chebyshev's), where interpolation is worst."""
    side = 0.5 - 0.5 * np.cos(np.pi * np.arange(KNOTS) / (KNOTS - 1))
    return np.stack(np.meshgrid(*[side] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)


def retold(truth: Truth) -> Truth:
    """The same function through its values at points of our own; the noise of an evaluation stays."""
    points = own_points(truth.X.shape[1])
    hyper = truth.hyper
    closely = Hyperparameters(hyper.lengthscales, hyper.amplitude, FOLLOWED * float(hyper.amplitude))
    return replace(truth, hyper=closely, X=points, y=truth.values(points))


def main() -> None:
    """Fit Fullerenes and write it."""
    truth = measured_fullerenes()
    own = retold(truth)
    others = np.random.default_rng(SEED).random((20_000, 3))
    about = {
        "versions": {"mopti": metadata.version("mopti"), "numpy": np.__version__},
        "seed": SEED,
        "measurements": len(truth.y),
        "ranges": dict(zip(FULLERENES, FULLERENE_RANGES, strict=False)),
        "value": "mole fraction of the wanted product",
        "largest difference from the fitted mean": float(np.max(np.abs(own.values(others) - truth.values(others)))),
    }
    save(own, DATA / "fullerenes.npz", about)


if __name__ == "__main__":
    main()
