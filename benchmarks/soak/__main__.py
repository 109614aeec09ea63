"""Play random studies for some minutes, or one of them again.

python -m benchmarks.soak [--minutes 10] [--seed 0] [--replay SEED]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from benchmarks.measure import save
from benchmarks.soak.cases import draw
from benchmarks.soak.play import Played, play, run

STUDIES = 1_000_000
"""Numbers of studies between those of two seeds."""
SLOWEST = 5
"""Suggestions that are named."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says, print the counts, write the results."""
    parser = argparse.ArgumentParser("python -m benchmarks.soak", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--minutes", type=float, default=10.0, help="of CPU time (10)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=int, metavar="SEED", help="play one study, whose number was printed")
    parser.add_argument("--results", default="soak", metavar="NAME", help="of the results file")
    options = parser.parse_args(arguments)
    if options.replay is not None:
        print(draw(np.random.default_rng(options.replay)))
        run(options.replay, Played(options.replay))
        print("nothing is wrong with it")
        return
    began = time.process_time()
    played = list(several(options.seed, lambda _: time.process_time() < began + 60.0 * options.minutes))
    row = {**summary(played), "cpu_seconds": time.process_time() - began}
    for name, value in row.items():
        print(f"{name:>12s}  {value}")
    print(f"written: {save(options.results, [row], minutes=options.minutes, seed=options.seed)}")


def several(seed: int, go_on: Callable[[int], bool]) -> Iterator[Played]:
    """Studies one after another, problems printed as they come; `go_on` is asked with the number of each."""
    for number in count():
        if not go_on(number):
            return
        played = play(STUDIES * seed + number)
        if played.problem is not None:
            print(f"{played.kind}, --replay {played.seed}: {played.problem}", flush=True)
        yield played


def summary(played: Sequence[Played]) -> dict[str, Any]:
    """What is printed and published."""
    kinds = [each.kind for each in played]
    slowest = sorted(played, key=lambda each: -each.slowest)[:SLOWEST]
    return {
        "studies": len(played),
        "asks": sum(each.asks for each in played),
        "exceptions": kinds.count("exception"),
        "duplicates": kinds.count("duplicate"),
        "wrong": kinds.count("wrong"),
        "fallbacks": sum(each.fallbacks for each in played),
        "slowest": [[round(each.slowest, 2), each.seed] for each in slowest],
        "problems": [[each.seed, each.problem] for each in played if each.problem is not None],
    }


if __name__ == "__main__":
    main()
