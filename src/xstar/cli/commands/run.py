"""`xstar run`: a program is run for every trial. The loop is in `xstar.cli.worker`."""

from __future__ import annotations

import argparse
from pathlib import Path

from xstar.cli.arguments import add_study
from xstar.cli.commands import recommend
from xstar.cli.console import Console
from xstar.errors import SettingsError

SUMMARY = "run a program for every trial"
DETAILS = """

The program gets the parameters as placeholders in its arguments, such as {lr}; as environment variables
(XSTAR_PARAM_LR, XSTAR_PARAMS with all of them as JSON); and in a JSON file named by XSTAR_PARAMS_FILE.
Its value is the last line that it prints, or as --value says: json is the file named by XSTAR_RESULT_FILE. Several
outputs are printed by name, such as yield=81.2, or as a JSON object in the last line or in that file.
An exit code other than 0 is a failure. Running the same command again goes on; so does running it on another
machine with the same storage."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command; the program itself comes after two dashes."""
    parser.usage = "xstar run STUDY.toml [options] -- PROGRAM [ARGUMENT ...]"
    add_study(parser, "study.toml")
    parser.add_argument("--no-wait", dest="wait", action="store_false", help="leave when others run the last trials")
    parser.add_argument("--budget", type=int, metavar="N", help="how many evaluations the study shall have in all")
    parser.add_argument("--trials", type=int, metavar="N", help="the old name of --budget")
    parser.add_argument("--workers", type=int, metavar="N", help="how many run at once (1)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="after which an evaluation has failed")
    parser.add_argument("--retries", type=int, metavar="N", help="how often to repeat one that fails (0)")
    parser.add_argument("--value", metavar="HOW", help="last-line, json, json:KEY or regex:PATTERN (last-line)")
    parser.add_argument("--tolerance", type=float, metavar="T", help="stop when no more than this is left to gain")
    parser.add_argument("--max-failures", type=int, metavar="N", help="stop after so many failures in a row (20)")
    parser.add_argument("--grace", type=float, metavar="SECONDS", help="for running evaluations after Ctrl-C (10)")
    parser.add_argument("--heartbeat", type=int, metavar="SECONDS", help="between signs of life of a worker (30)")
    parser.add_argument("--logs", metavar="FOLDER", help="for the files of trials (STUDY.trials)")
    parser.add_argument("--quiet", action="store_true", help="say nothing until the end")


def run(options: argparse.Namespace, console: Console) -> int:
    """Evaluate trials until there is a reason to stop, and recommend a point."""
    from xstar.cli.opening import open_named
    from xstar.cli.settings import RunSettings
    from xstar.cli.trials import count
    from xstar.cli.worker import Worker
    from xstar.files.definition import Definition
    from xstar.files.letters import file_name

    if not options.study.endswith(".toml"):
        raise SettingsError("xstar run needs a definition, the path of a TOML file that ends in .toml.")
    path = Path(options.study)
    definition = Definition.read(path)
    settings = RunSettings.read(definition.run or {}, options, options.program, definition.goals)
    settings.program.check(list(definition.space.parameters))
    own = "" if options.name in (None, definition.name) else f".{file_name(options.name)}"
    logs = Path(settings.logs) if settings.logs else path.with_suffix(f"{own}.trials")
    if logs.exists() and not logs.is_dir():
        raise SettingsError(f"the logs cannot be in {str(logs)!r}: it is not a folder.")
    opened = open_named(options, console, create=True, heartbeat=settings.heartbeat)
    share = " of the hypervolume" if definition.goals is not None and definition.goals.several else ""
    reason = Worker(opened, settings, console, logs).run()
    console.remark({
        "complete": f"the study has its {settings.budget} trials",
        "elsewhere": f"the last of its {settings.budget} trials are run by other workers",
        "tolerance": f"with 95 % probability no more than {settings.tolerance}{share} is left to gain",
        "failures": f"stopped after {settings.max_failures} failures in a row; the logs are in {logs}",
        "exhausted": "every point of the space has been evaluated",
        "interrupted": "interrupted; the same command goes on",
    }[reason])  # fmt: skip
    snapshot = opened.snapshot()
    if any(trial.state == "done" for trial in snapshot.evidence):
        there = count(snapshot.trials, finished=True)
        recommend.answer(snapshot.optimizer, console, stopped_by=reason, trials=there)
        return {"interrupted": 130, "failures": 1}.get(reason, 0)
    console.remark("there are no results to recommend anything by")
    return 130 if reason == "interrupted" else 1
