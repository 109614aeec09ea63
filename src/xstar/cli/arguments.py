"""Arguments that commands have in common."""

from __future__ import annotations

import argparse


def add_study(
    parser: argparse.ArgumentParser, says: str = "study.toml, study.db, study.log, or the URL of a database"
) -> None:
    """Add the study that a command is about, and how to answer."""
    parser.add_argument("study", metavar="STUDY", help=says)
    parser.add_argument("--study", dest="name", metavar="NAME", help="its name, if the database has several")
    add_json(parser)


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the study that a command reads, which may be a spreadsheet, and how to answer."""
    add_study(parser, "study.toml, study.db, study.log, the URL of a database, or a spreadsheet, plate.csv")
    parser.add_argument("--definition", metavar="TOML", help="of a spreadsheet: what its columns mean (plate.toml)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add how to answer."""
    parser.add_argument("--json", action="store_true", help="answer in JSON")


def positive_integer(text: str) -> int:
    """Read a whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"it must be 1 or more; received {text}")
    return number
