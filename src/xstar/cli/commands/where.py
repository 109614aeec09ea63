"""`xstar where`: the posterior over the optimum, and what is left to gain."""

from __future__ import annotations

import argparse
from typing import Any

from xstar.cli.arguments import add_source, positive_integer
from xstar.cli.console import Console

SUMMARY = "say where the optimum is, and how much is left to gain"
DETAILS = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_source(parser)
    parser.add_argument("--samples", type=positive_integer, default=200, metavar="N", help="draws of the optimum (200)")


def run(options: argparse.Namespace, console: Console) -> int:
    """Answer with credible intervals of the optimum and quantiles of the regret."""
    import numpy as np

    from xstar.beliefs import FrontPosterior
    from xstar.cli.advice import advice
    from xstar.cli.in_words import as_data
    from xstar.cli.opening import open_source

    source = open_source(options, console)
    optimizer = source.optimizer()
    with console.working("drawing where the optimum is"):
        found = optimizer.where(options.samples)
    data: dict[str, Any] = {
        "intervals": {
            name: {str(choice): share for choice, share in interval.items()} if isinstance(interval, dict) else interval
            for name, interval in found.intervals().items()
        },
        "probability": 0.9,
        "left_to_gain": {"median": found.regret_quantile(0.5), "95%": found.regret_quantile(0.95)},
        "recommendation": as_data(found.recommendation),
        "samples": found.params,
        "notes": source.remarks,
    }
    if isinstance(found, FrontPosterior):
        data.update(advice(optimizer).data)
        del data["recommendation"]
        middle, most = np.quantile(found.share_left, [0.5, 0.95], method="higher")
        data["left_to_gain"] = {"median": middle, "95%": most, "of": "hypervolume"}
    console.answer(str(found), data)
    return 0
