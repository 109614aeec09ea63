"""The command line: in this process, which is fast, or in one of its own, for signals and what a shell sees."""

import json
import logging
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import optuna
import pytest
from optuna.storages import RDBStorage

from tests.waiting import HANG, wait_until
from xstar.cli import main, studies

SCRIPT = Path(sys.executable).with_name("xstar")


@dataclass(frozen=True)
class Answer:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out, parse_constant=_refuse)


def _refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty one, to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def isolated(monkeypatch):
    """What `main` sets for a process of its own is undone, and databases are closed."""
    opened, original = [], studies._open_storage
    loggers = {name: logging.getLogger(name).level for name in ("xstar", "optuna")}
    verbosity = optuna.logging.get_verbosity()

    def remembering(*args):
        opened.append(original(*args))
        return opened[-1]

    monkeypatch.setattr(studies, "_open_storage", remembering)
    with warnings.catch_warnings():
        yield
    optuna.logging.set_verbosity(verbosity)
    for name, level in loggers.items():
        logging.getLogger(name).setLevel(level)
    for storage in opened:
        _close(getattr(storage, "_backend", storage))


def _close(storage):
    if isinstance(storage, RDBStorage):
        storage.scoped_session.remove()
        storage.engine.dispose()


@pytest.fixture
def cli(folder, isolated, capsys):
    """Runs a command in this process; the code is that of argparse where it complains."""

    def call(*arguments):
        capsys.readouterr()
        with warnings.catch_warnings():
            try:
                code = main([str(argument) for argument in arguments])
            except SystemExit as end:
                code = end.code
        return Answer(code, *capsys.readouterr())

    return call


@pytest.fixture
def ok(cli):
    """Likewise, for commands that must go well."""

    def call(*arguments):
        answer = cli(*arguments)
        assert answer.code == 0, answer.err
        return answer

    return call


@pytest.fixture
def start(folder):
    """Starts the installed script as a process; all that are left are ended."""
    processes = []

    def begin(*arguments, **settings):
        processes.append(
            subprocess.Popen(
                [str(SCRIPT), *map(str, arguments)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                **settings,
            )
        )
        return processes[-1]

    yield begin
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def script(start):
    """Runs the installed script to its end."""

    def call(*arguments):
        process = start(*arguments)
        out, err = process.communicate(timeout=HANG)
        return Answer(process.returncode, out, err)

    return call


@pytest.fixture
def define(folder):
    """Writes a definition: its parameters and what is below [run] as TOML, other settings as they are."""

    def write(path="study.toml", parameters="x = { low = 0.0, high = 1.0 }", run="", **settings):
        described = {"direction": "minimize", "method": "logei", **settings}
        lines = [f"{key} = {json.dumps(value)}" for key, value in described.items()]
        text = "\n".join([*lines, "[parameters]", parameters, "[run]", run, ""])
        Path(path).write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def stored(folder):
    """The study in a SQLite file as Optuna sees it, to look at or to tamper with."""
    opened = []

    def load(path="study.db", name=None, **settings):
        opened.append(RDBStorage(f"sqlite:///{path}", **settings))
        return optuna.load_study(study_name=name, storage=opened[-1])

    yield load
    for storage in opened:
        _close(storage)


@pytest.fixture
def tree(folder):
    """Everything in the folder: names, and the bytes of files."""

    def look():
        return {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
        }

    return look


@pytest.fixture
def ended(folder):
    """Waits until the process whose number is in a file is over."""

    def look(name="pid"):
        number = int((folder / name).read_text())
        return wait_until(lambda: not _is_running(number))

    return look


def _is_running(number):
    try:
        os.kill(number, 0)
        # One that nobody has asked about is a zombie.
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not Path("/proc").exists()
    except ProcessLookupError:
        return False
