"""The arguments of the command line, and what comes of errors.

Exit codes: 0 well; 1 the study cannot go on (evaluations keep failing, nothing is left to try, its database has gone
away); 2 wrong input, of which nothing has come; 130 interrupted.
"""

from __future__ import annotations

import argparse
import logging
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xstar.cli.console import Console, StorageLost
from xstar.cli.parser import build_parser
from xstar.errors import SettingsError, SpaceExhausted, XstarError

NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan).*", re.IGNORECASE)
"""An argument that is a number, not an option."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    given, program = (given[: given.index("--")], given[given.index("--") + 1 :]) if "--" in given else (given, [])
    # With a space before it, argparse takes a negative number for what it is.
    options = build_parser().parse_args([f" {word}" if NEGATIVE.fullmatch(word) else word for word in given])
    console = Console(options.json, getattr(options, "quiet", False))
    if program and options.action != "run":
        console.complain(f"only xstar run takes a program after two dashes; received {shlex.join(program)!r}.")
        return 2
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_: console.note(str(message))
            return _run(options, program, console)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except Exception as error:
        sentence = str(error) if isinstance(error, XstarError) else _known_trouble(error)
        if sentence is None:
            raise
        console.complain(sentence)
        return 1 if isinstance(error, SpaceExhausted | StorageLost) else 2


def _run(options: argparse.Namespace, program: list[str], console: Console) -> int:
    if options.action == "csv":
        return _csv(options, console)
    import optuna

    from xstar.cli.commands import everything as commands
    from xstar.cli.studies import open_study

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    _let_the_sampler_speak(console)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    if options.action == "run":
        return _work(options, program, console)
    if options.action in ("tell", "fail"):
        *what, value = [*options.what, "failed"] if options.action == "fail" else options.what
        reason = None if options.reason is None else options.reason.strip()
        told = commands.Told.read(what, value, options.sd if options.action == "tell" else None, reason)
        told.check(options.study)
        commands.tell(open_study(options.study, options.name, create=told.number is None), console, told)
        return 0
    opened = open_study(options.study, options.name, create=options.action == "ask")
    if options.action == "ask":
        commands.ask(opened, console, options.count)
    elif options.action == "where":
        commands.where(opened, console, options.samples)
    elif options.action == "explain":
        commands.explain(opened, console, options.what)
    elif options.action == "export":
        commands.export(opened, console, options.file)
    elif options.action == "dashboard":
        _dashboard(options, opened, console)
    else:
        getattr(commands, options.action)(opened, console)
    return 0


def _work(options: argparse.Namespace, program: list[str], console: Console) -> int:
    from xstar.cli.commands import everything as commands
    from xstar.cli.settings import RunSettings
    from xstar.cli.studies import open_study
    from xstar.cli.trials import count
    from xstar.cli.worker import Worker
    from xstar.files.definition import Definition

    if not options.study.endswith(".toml"):
        raise SettingsError("xstar run needs a definition, the path of a TOML file that ends in .toml.")
    path = Path(options.study)
    definition = Definition.read(path)
    settings = RunSettings.read(definition.run or {}, options, program)
    settings.program.check(list(definition.space.parameters))
    own = "" if options.name in (None, definition.name) else f".{options.name}"
    logs = Path(settings.logs) if settings.logs else path.with_suffix(f"{own}.trials")
    if logs.exists() and not logs.is_dir():
        raise SettingsError(f"the logs cannot be in {str(logs)!r}: it is not a folder.")
    opened = open_study(options.study, options.name, create=True, heartbeat=settings.heartbeat)
    worker = Worker(
        opened, settings.program, console, settings.trials, settings.workers, settings.tolerance,
        settings.max_failures, settings.grace, settings.heartbeat, logs, options.wait,
    )  # fmt: skip
    reason = worker.run()
    console.remark({
        "complete": f"the study has its {settings.trials} trials",
        "elsewhere": f"the last of its {settings.trials} trials are run by other workers",
        "tolerance": f"with 95 % probability no more than {settings.tolerance} is left to gain",
        "failures": f"stopped after {settings.max_failures} failures in a row; the logs are in {logs}",
        "exhausted": "every point of the space has been evaluated",
        "interrupted": "interrupted; the same command goes on",
    }[reason])  # fmt: skip
    if any(trial.state == "done" for trial in opened.optimizer().trials):
        there = count(opened.study.get_trials(deepcopy=False), finished=True)
        commands.recommend(opened, console, stopped_by=reason, trials=there)
        return {"interrupted": 130, "failures": 1}.get(reason, 0)
    console.remark("there are no results to recommend anything by")
    return 130 if reason == "interrupted" else 1


def _csv(options: argparse.Namespace, console: Console) -> int:
    from xstar.cli.sheet import step
    from xstar.files.definition import Definition
    from xstar.numerics.checks import integer

    path = Path(options.file)
    described = Path(options.definition) if options.definition else path.with_suffix(".toml")
    if not described.exists():
        raise SettingsError(
            f"there is no definition {str(described)!r} of the columns of {path.name!r}; write one (xstar --help shows "
            "how) or name it with --definition."
        )
    definition = Definition.read(described)
    progress = step(path, definition, integer(options.batch, "batch", 1))
    data: dict[str, Any] = {
        "added": progress.added, "open": progress.open, "done": progress.done, "failed": progress.failed,
        "exhausted": progress.exhausted,
    }  # fmt: skip
    counts = f"{progress.done} done, {progress.failed} failed, {progress.open} to run"
    lines = [f"{path.name}: {counts}, of them {len(progress.added)} new"]
    if progress.backup is not None:
        lines.append(f"the file as it was is in {progress.backup.name}")
    if not progress.added and not progress.exhausted:
        lines.append("enough rows are open already: nothing was added")
    if progress.exhausted:
        lines.append("every point of the space has been tried: there is nothing new to suggest")
    if progress.done:
        best = progress.optimizer.recommend()
        data["recommendation"] = {"params": best.params, "mean": best.mean, "sd": best.sd}
        shown = ", ".join(f"{name} = {value}" for name, value in best.params.items())
        lines.append(f"recommended so far: {shown}, for {best.mean:.6g} ± {best.sd:.2g}")
    if progress.added:
        lines.append(f"fill in {definition.result!r} in the new rows and run the same command again")
    console.answer("\n".join(lines), data)
    return 0


def _dashboard(options: argparse.Namespace, opened: Any, console: Console) -> None:
    from xstar.integrations import dashboard

    if options.once:
        console.answer("\n".join(saved := dashboard.save_figures(opened.study, opened.optimizer())), {"saved": saved})
        return
    dashboard.serve(
        opened.study, lambda _: opened.optimizer(), options.host, options.port, options.refresh,
        announce=console.remark,
    )  # fmt: skip


def _let_the_sampler_speak(console: Console) -> None:
    """What the library logs as a warning, for the reader of a terminal."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: console.note(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("xstar")
    logger.handlers, logger.propagate = [handler], False


def _known_trouble(error: Exception) -> str | None:
    """One sentence about what the world outside has done; None for what is our own fault."""
    if isinstance(error, OSError):
        name = f" {error.filename!r}" if error.filename else ""
        return f"{error.strerror or error}{name}."
    if "optuna" in sys.modules:
        import optuna
        import sqlalchemy.exc

        from xstar.cli.studies import brief

        if isinstance(error, sqlalchemy.exc.SQLAlchemyError | optuna.exceptions.OptunaError):
            return f"the storage of the study fails: {brief(error)}"
    return None
