"""Studies of `xstar run` that the faults are about, and what is in them."""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from optuna.trial import TrialState

from benchmarks.faults.processes import elsewhere, is_running
from xstar.cli import main
from xstar.cli.studies import open_study
from xstar.cli.trials import count
from xstar.integrations.optuna.records import WITHDRAWN

BUDGET = 10
PROGRAM = "echo $$ > pids/$$; sleep 0.02; test -e hang && exec sleep 600; echo {x}"
"""It says who it is; whoever runs when its worker is killed does not end by itself."""
DEFINITION = """
name = "{name}"
direction = "minimize"
storage = "{storage}"
method = "random"
[parameters]
x = {{ low = 0.0, high = 1.0 }}
y = {{ low = 0.0, high = 1.0 }}
[run]
budget = {budget}
workers = 2
grace = 1.0
command = ["sh", "-c", "cd {folder}; {program}"]
"""
TOLD = re.compile(r"^\d+/\d+  #(\d+)  .*->  (\S+)  \(", re.MULTILINE)
"""The line by which `xstar run` says that a result is in the study."""


class Found(NamedTuple):
    """What is in a study."""

    values: dict[int, float]
    """Of trials that are complete, by their numbers."""
    right: bool
    """Whether each of them is what the program printed."""
    places: int
    """Of the budget, which finished evaluations fill."""
    running: int


@dataclass(frozen=True)
class Study:
    """A definition in a folder of its own."""

    folder: Path
    budget: int = BUDGET

    @classmethod
    def begin(cls, folder: Path, storage: str, budget: int = BUDGET) -> Study:
        """Write a definition; the study itself is made by its first worker."""
        (folder / "pids").mkdir(parents=True)
        study = cls(folder, budget)
        text = DEFINITION.format(name=folder.name, storage=storage, budget=budget, folder=folder, program=PROGRAM)
        study.definition.write_text(text, encoding="utf-8")
        return study

    @property
    def definition(self) -> Path:
        """The file that says what the study is."""
        return self.folder / "study.toml"

    def run(self) -> int:
        """What a worker does."""
        return main(["run", str(self.definition)])

    def look(self) -> Found:
        """Read the study, in a process of its own."""
        return elsewhere(partial(_look, self.definition))

    def exists(self) -> bool:
        """Whether there is something to look at; a worker that was killed early has made nothing."""
        return elsewhere(partial(_exists, self.definition))

    def programs(self) -> list[int]:
        """The processes of programs that have been started."""
        return [int(path.name) for path in (self.folder / "pids").iterdir()]

    def alive(self) -> list[int]:
        """Those of them that run."""
        return [pid for pid in self.programs() if is_running(pid)]

    def is_sound(self) -> bool:
        """Whether a SQLite file is whole, or can be made so; on a copy, because to look at it makes it so."""
        path = self.folder / "study.db"
        if not path.exists() or not path.stat().st_size:
            return True
        with tempfile.TemporaryDirectory() as folder:
            for part in self.folder.glob("study.db*"):
                shutil.copy(part, folder)
            with closing(sqlite3.connect(Path(folder) / path.name)) as connection:
                return list(connection.execute("PRAGMA integrity_check")) == [("ok",)]


def told(text: str) -> dict[int, float]:
    """The results of which `xstar run` has said that they are in the study."""
    return {int(number): float(value) for number, value in TOLD.findall(text)}


def _look(definition: Path) -> Found:
    trials = open_study(str(definition)).study.get_trials(deepcopy=False)
    done = {trial.number: trial for trial in trials if trial.state == TrialState.COMPLETE}
    return Found(
        {number: float(trial.value or 0.0) for number, trial in done.items()},
        all(trial.value == trial.params["x"] for trial in done.values()),
        count(trials, finished=True),
        sum(trial.state == TrialState.RUNNING and WITHDRAWN not in trial.user_attrs for trial in trials),
    )


def _exists(definition: Path) -> bool:
    try:
        open_study(str(definition))
    except Exception:
        return False
    return True
