"""The commands and their options, with their help."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from xstar.version import __version__

HELP = """Find the optimum of an expensive function in few evaluations.

STUDY is a definition (study.toml), the SQLite file of a study (study.db), a journal of Optuna (study.log), or the
URL of a database."""

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


class _Parser(argparse.ArgumentParser):
    """One that knows what people forget."""

    def error(self, message: str) -> NoReturn:
        if self.prog == "xstar" and re.match("unrecognized arguments: [^-]", message):
            message += "; the program of xstar run, with all its arguments, comes after two dashes: -- python train.py"
        super().error(message)


def build_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = _Parser("xstar", description=HELP, epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("--version", action="version", version=f"xstar {__version__}")
    commands = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)

    def command(name: str, says: str, more: str = "", study: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=says, description=f"{says[0].upper()}{says[1:]}.{more}", formatter_class=formatter
        )
        if study:
            what = "study.toml" if name == "run" else "study.toml, study.db, study.log, or the URL of a database"
            added.add_argument("study", metavar="STUDY", help=what)
            added.add_argument("--study", dest="name", metavar="NAME", help="its name, if the database has several")
        added.add_argument("--json", action="store_true", help="answer in JSON")
        return added

    _add_run_options(command("run", "run a program for every trial", RUN))
    ask = command("ask", "suggest the next evaluation")
    ask.add_argument("-n", "--count", type=_positive, metavar="N", help="suggest several, informative together")
    tell = command("tell", "tell the value of a trial", TELL)
    tell.usage = "xstar tell STUDY NUMBER VALUE [--sd SD], or: xstar tell STUDY NAME=VALUE ... VALUE [--sd SD]"
    tell.add_argument("what", nargs="+", metavar="WHAT", help="NUMBER VALUE, or NAME=VALUE ... VALUE")
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


def _add_run_options(run: argparse.ArgumentParser) -> None:
    run.usage = "xstar run STUDY.toml [options] -- PROGRAM [ARGUMENT ...]"
    run.add_argument("--no-wait", dest="wait", action="store_false", help="leave when others run the last trials")
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
