"""The study that the options of a command name, opened for it."""

from __future__ import annotations

import argparse
import logging
import warnings

import optuna

from xstar.cli.console import Console
from xstar.cli.studies import Opened, open_study


def open_named(
    options: argparse.Namespace, console: Console, *, create: bool = False, heartbeat: int | None = None
) -> Opened:
    """Open the study of a command; made if it is not there and `create`."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    _let_the_sampler_speak(console)
    return open_study(options.study, options.name, create=create, heartbeat=heartbeat)


def _let_the_sampler_speak(console: Console) -> None:
    """What the library logs as a warning, for the reader of a terminal."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: console.note(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("xstar")
    logger.handlers, logger.propagate = [handler], False
