"""The arguments of the command line, and what comes of errors.

Exit codes: 0 well; 1 the study cannot go on (evaluations keep failing, nothing left to try); 2 wrong input, of which
nothing has come; 130 interrupted.
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

from xstar.cli.console import Console
from xstar.errors import SettingsError, SpaceExhausted, XstarError
from xstar.version import __version__

NEGATIVE = re.compile(r"-(\d|\.\d|inf|nan).*", re.IGNORECASE)
"""An argument that is a number, not an option."""

HELP = """Find the optimum of an expensive function in few evaluations.

STUDY is a definition (study.toml), the SQLite file of a study (study.db), or the URL of a database."""

EXAMPLES = """a definition, study.toml:

  direction = "minimize"

  [parameters]
  lr = { low = 1e-5, high = 1e-1, log = true }
  layers = { low = 1, high = 6 }
  activation = ["relu", "gelu"]

  [run]
  trials = 40

and what to do with it:

  xstar run study.toml -- python train.py --lr {lr} --layers {layers}
  xstar where study.toml
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    given, program = (given[: given.index("--")], given[given.index("--") + 1 :]) if "--" in given else (given, [])
    # With a space before it, argparse takes a negative number for what it is.
    options = _parser().parse_args([f" {word}" if NEGATIVE.fullmatch(word) else word for word in given])
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
        return 1 if isinstance(error, SpaceExhausted) else 2


def _run(options: argparse.Namespace, program: list[str], console: Console) -> int:
    if options.action == "csv":
        return _csv(options, console)
    import optuna

    from xstar.cli import commands
    from xstar.cli.studies import open_study

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    logging.getLogger("xstar").setLevel(logging.ERROR)
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
    from xstar.cli import commands
    from xstar.cli.settings import RunSettings
    from xstar.cli.studies import open_study
    from xstar.cli.worker import Worker
    from xstar.definition import Definition

    if not options.study.endswith(".toml"):
        raise SettingsError(f"xstar run needs a definition, a TOML file; received {options.study!r}.")
    path = Path(options.study)
    definition = Definition.read(path)
    settings = RunSettings.read(definition.run or {}, options, program)
    settings.program.check(list(definition.space.parameters))
    logs = Path(settings.logs) if settings.logs else path.with_suffix(".trials")
    if logs.exists() and not logs.is_dir():
        raise SettingsError(f"the logs cannot be in {str(logs)!r}: it is not a folder.")
    opened = open_study(options.study, options.name, create=True, heartbeat=settings.heartbeat)
    worker = Worker(
        opened, settings.program, console, settings.trials, settings.workers, settings.tolerance,
        settings.max_failures, settings.grace, settings.heartbeat, logs,
    )  # fmt: skip
    reason = worker.run()
    console.remark({
        "complete": f"the study has its {settings.trials} trials",
        "tolerance": f"with 95 % probability no more than {settings.tolerance} is left to gain",
        "failures": f"stopped after {settings.max_failures} failures in a row; the logs are in {logs}",
        "exhausted": "every point of the space has been evaluated",
        "interrupted": "interrupted; the same command goes on",
    }[reason])  # fmt: skip
    if any(trial.value is not None for trial in opened.study.get_trials(deepcopy=False)):
        commands.recommend(opened, console)
    elif reason == "complete":
        return 1
    return {"interrupted": 130, "failures": 1}.get(reason, 0)


def _csv(options: argparse.Namespace, console: Console) -> int:
    from xstar.cli.sheet import step
    from xstar.definition import Definition
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


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("xstar", description=HELP, epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("--version", action="version", version=f"xstar {__version__}")
    commands = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)

    def command(name: str, says: str, more: str = "", study: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=says, description=f"{says[0].upper()}{says[1:]}.{more}", formatter_class=formatter
        )
        if study:
            added.add_argument("study", metavar="STUDY", help="study.toml, study.db, or the URL of a database")
            added.add_argument("--study", dest="name", metavar="NAME", help="its name, if the database has several")
        added.add_argument("--json", action="store_true", help="answer in JSON")
        return added

    run = command("run", "run a program for every trial", RUN, study=True)
    run.usage = "xstar run STUDY.toml [options] -- PROGRAM [ARGUMENT ...]"
    run.add_argument("--trials", type=int, metavar="N", help="how many evaluations the study shall have in all")
    run.add_argument("--workers", type=int, metavar="N", help="how many run at once (1)")
    run.add_argument("--timeout", type=float, metavar="SECONDS", help="after which an evaluation has failed")
    run.add_argument("--retries", type=int, metavar="N", help="how often to repeat one that fails (0)")
    run.add_argument("--value", metavar="HOW", help="last-line, json, json:KEY or regex:PATTERN (last-line)")
    run.add_argument("--tolerance", type=float, metavar="T", help="stop when no more than this is left to gain")
    run.add_argument("--max-failures", type=int, metavar="N", help="stop after so many failures in a row (20)")
    run.add_argument("--grace", type=float, metavar="SECONDS", help="for running evaluations after Ctrl-C (10)")
    run.add_argument("--heartbeat", type=int, metavar="SECONDS", help="between signs of life of a worker (30)")
    run.add_argument("--logs", metavar="FOLDER", help="for the files of trials (STUDY.trials)")
    run.add_argument("--quiet", action="store_true", help="say nothing until the end")
    ask = command("ask", "suggest the next evaluation")
    ask.add_argument("-n", "--count", type=_positive, metavar="N", help="suggest several, informative together")
    tell = command("tell", "tell the value of a trial", TELL)
    tell.add_argument("what", nargs="+", metavar="NUMBER VALUE", help="or NAME=VALUE ... VALUE")
    tell.set_defaults(reason=None)
    tell.add_argument("--sd", type=float, help="the standard deviation of the value's noise, if known")
    fail = command("fail", "tell that a trial has failed; the model learns to stay away")
    fail.add_argument("what", nargs="+", metavar="NUMBER", help="or NAME=VALUE ...")
    fail.add_argument("--reason", default="failed", help="why, in words")
    command("status", "say how the study stands")
    command("recommend", "name the point with the best posterior mean")
    where = command("where", "say where the optimum is, and how much is left to gain")
    where.add_argument("--samples", type=_positive, default=200, metavar="N", help="draws of the optimum (200)")
    explain = command("explain", "say why a trial, or some parameters, are worth evaluating")
    explain.add_argument("what", nargs="+", metavar="NUMBER", help="or NAME=VALUE ...")
    export = command("export", "write the study to a file", EXPORT)
    export.add_argument(
        "file", metavar="FILE", help="its ending says what: .csv .json .html .png .svg .pdf; - prints CSV"
    )
    sheet = command("csv", "suggest new rows of a spreadsheet", CSV, study=False)
    sheet.add_argument("file", metavar="FILE", help="the CSV file; it is made if it is not there")
    sheet.add_argument("--definition", metavar="TOML", help="what the columns mean (FILE with .toml)")
    sheet.add_argument("--batch", type=int, default=1, metavar="N", help="how many rows to have open (1)")
    board = command("dashboard", "show the study in a browser, with xstar's figures", DASHBOARD)
    board.add_argument("--host", default="127.0.0.1", help="(127.0.0.1)")
    board.add_argument("--port", type=int, default=8080, help="(8080)")
    board.add_argument(
        "--refresh", type=float, default=30.0, metavar="SECONDS", help="between looks for new results (30)"
    )
    board.add_argument("--once", action="store_true", help="save the figures in the study and end")
    return parser


RUN = """

The program gets the parameters as placeholders in its arguments, such as {lr}; as environment variables
(XSTAR_PARAM_LR, XSTAR_PARAMS with all of them as JSON); and in a JSON file named by XSTAR_PARAMS_FILE.
Its value is the last line that it prints, or as --value says: json is the file named by XSTAR_RESULT_FILE.
An exit code other than 0 is a failure. Running the same command again goes on; so does running it on another
machine with the same storage."""
TELL = """

  xstar tell study.toml 7 0.93                          the value of trial 7
  xstar tell study.toml lr=0.01 layers=3 0.91           a result that nobody asked for
  xstar tell study.toml 8 failed                        a failure"""
EXPORT = " A .json file can be read by xstar.Optimizer.load."
CSV = """

Rows with an empty result are suggestions to run. Fill in their results, or the word failed, and run the command
again. What else is in the file stays as it is; a copy of the old file is kept as FILE.bak."""
DASHBOARD = " It needs optuna-dashboard: pip install 'xstar[dashboard]'."


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"it must be 1 or more; received {text}")
    return number
