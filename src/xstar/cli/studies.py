"""Where a study is, and opening it.

    study.toml         a definition; the study is in its storage, or in study.db beside it
    study.db           an SQLite file
    study.log          a journal file
    dialect://...      any other database that Optuna can use

A study keeps its definition, so that it can be opened by its storage alone.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy.exc
from optuna.distributions import check_distribution_compatibility
from optuna.storages import (
    BaseStorage,
    JournalStorage,
    RDBStorage,
    RetryHeartbeatStaleTrialCallback,
)
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection
from sqlalchemy.engine import URL, make_url

from xstar.cli.told import SamplerOfOutputs, directions_of
from xstar.errors import FileError, SettingsError, XstarError
from xstar.files.definition import Definition
from xstar.goals import Goals
from xstar.integrations.optuna import XstarSampler, adapter, records
from xstar.integrations.optuna.snapshot import Snapshot
from xstar.optimizer import Optimizer

DEFINITION = "xstar:definition"
"""The user attribute of a study that holds its definition."""
PRIVATE = ("storage", "run")
"""What is not kept in the study: passwords may be in it."""
OPTUNAS_TABLES = frozenset({"studies", "version_info"})
"""Those by which a file of Optuna's is recognized."""
COLUMNS = "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
"""All columns of all tables of an SQLite file."""
SAME_MOMENT = re.compile("already exists|UNIQUE constraint|duplicate key", re.IGNORECASE)
"""What databases say when a table, or a row, has just been made by another process."""


@dataclass(frozen=True)
class StorageSettings:
    """How long a storage is waited for, and how often things are tried again."""

    lock_seconds: float = 60.0
    """How long to wait for another process to leave a SQLite file."""
    connect_seconds: int = 10
    """How long to wait for a database to answer."""
    create_attempts: int = 6
    """How often to try to make a study that other processes make at the same moment."""
    first_pause: float = 0.2
    """Seconds before the second attempt; each pause is twice as long as the one before."""
    max_retries: int = 2
    """How often a trial is begun again whose worker has died."""


STORAGE = StorageSettings()


class NoStudyError(FileError):
    """There is no study yet where one was looked for."""


@dataclass(frozen=True)
class Opened:
    """A study, with what is known about it."""

    study: optuna.Study
    definition: Definition | None
    sampler: XstarSampler
    address: str
    """Where it is, without passwords."""
    folder: Path
    """Where its files go."""

    @property
    def goals(self) -> Goals | None:
        """What is wanted of several outputs, if the definition names them."""
        return None if self.definition is None else self.definition.goals

    def snapshot(self) -> Snapshot:
        """Read the study: what varies is as defined, or what all complete trials have."""
        trials = self.study.get_trials(deepcopy=False)
        known = self.sampler.search_space or records.common_distributions(trials)
        if not known:
            raise SettingsError(
                f"the study {self.study.study_name!r} has no complete trial and no definition, so its parameters are "
                "not known; use a definition, a TOML file with [parameters]."
            )
        return self.sampler.snapshot(self.study, trials, known)

    def optimizer(self) -> Optimizer:
        """Return what the study says."""
        return self.snapshot().optimizer


def open_study(
    reference: str, name: str | None = None, *, create: bool = False, heartbeat: int | None = None
) -> Opened:
    """Open the study that is meant; made if it is not there and `create`. Otherwise nothing is written anywhere."""
    definition: Definition | None = None
    folder = Path()
    if reference.endswith(".toml"):
        path = Path(reference)
        definition = Definition.read(path)
        folder = path.parent
        location = _beside(definition.storage, folder) if definition.storage else str(folder / f"{path.stem}.db")
        name = name or definition.name
    else:
        location = reference
    url = _to_url(location)
    address = _shown(url) if isinstance(url, URL) else str(url)
    path_of_file = _file_of(url)
    if path_of_file is not None:
        if reference == location:
            folder = path_of_file.parent
        _check_file(path_of_file, create and definition is not None, is_database=isinstance(url, URL))
    with _complaints(address):
        study = _open(url, name, definition if create else None, heartbeat, address)
        return Opened(study, *_settle(study, definition, create), address, folder)


def _open(
    url: URL | Path, name: str | None, create: Definition | None, heartbeat: int | None, address: str
) -> optuna.Study:
    """The study; where several processes make it at the same moment, all but one of them try again."""
    for attempt in range(STORAGE.create_attempts):
        try:
            return _find_study(_open_storage(url, heartbeat, create is not None), name, create, address)
        except sqlalchemy.exc.SQLAlchemyError as error:
            if create is None or attempt == STORAGE.create_attempts - 1 or not SAME_MOMENT.search(str(error)):
                raise
            time.sleep(STORAGE.first_pause * 2**attempt)
    raise AssertionError("the last attempt returns or raises")


def _beside(storage: str, folder: Path) -> str:
    """Relative file names of a definition are meant relative to it."""
    found = re.fullmatch(r"sqlite:///(?!/)(.+)", storage)
    if found and found[1] != ":memory:":
        return str(folder / found[1])
    return storage if "://" in storage else str(folder / storage)


def _to_url(location: str) -> URL | Path:
    """A URL for SQLAlchemy, or the path of a journal."""
    if "://" not in location:
        return Path(location) if location.endswith(".log") else URL.create("sqlite", database=location)
    try:
        url = make_url(location)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        # Without the URL itself: a password may be in it.
        raise SettingsError(
            "the URL of the storage cannot be read; write it as dialect://user:password@host:port/database."
        ) from None
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def _shown(url: URL) -> str:
    """The URL without passwords, of which some databases take one as an option."""
    options = {key: value for key, value in url.query.items() if "pass" not in key.lower()}
    return url.set(query=options).render_as_string(hide_password=True)


def _file_of(url: URL | Path) -> Path | None:
    if isinstance(url, Path):
        return url
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _check_file(path: Path, may_create: bool, is_database: bool) -> None:
    """A file that is not a study must stay as it is."""
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        if not may_create:
            raise NoStudyError(
                f"there is no study {str(path)!r} yet; xstar run or xstar ask on its definition makes it."
            )
        if not path.parent.is_dir():
            raise FileError(f"there is no folder {str(path.parent)!r} for the study.")
        return
    if not path.is_file():
        raise FileError(f"{str(path)!r} is not a file.")
    if not is_database:
        if not _is_journal(path):
            raise FileError(f"{str(path)!r} is not a journal of Optuna.")
        return
    tables, began = _tables_of(path), time.monotonic()
    # Another worker may be making them, one after the other.
    while (
        0 < len(tables.keys() & OPTUNAS_TABLES) < len(OPTUNAS_TABLES)
        and time.monotonic() - began < STORAGE.connect_seconds
    ):
        time.sleep(0.05)
        tables = _tables_of(path)
    # One that was killed while it made them leaves some; whoever may create goes on.
    if not tables.keys() >= OPTUNAS_TABLES and not (may_create and tables.items() <= adapter.tables().items()):
        raise FileError(f"{str(path)!r} is an SQLite file without Optuna studies.")


def _tables_of(path: Path) -> dict[str, frozenset[str]]:
    """The tables of an SQLite file, and the names of their columns."""
    try:
        try:
            return _read_tables(path, "ro")
        except sqlite3.OperationalError as error:
            if "readonly" not in str(error):
                raise
            # A process was killed while it wrote: the file has to be rolled back before it can be read.
            return _read_tables(path, "rw")
    except sqlite3.Error as error:
        raise FileError(f"{str(path)!r} cannot be opened as a study: {error}.") from error


def _read_tables(path: Path, mode: str) -> dict[str, frozenset[str]]:
    where = f"{path.resolve().as_uri()}?mode={mode}"
    with closing(sqlite3.connect(where, uri=True, timeout=STORAGE.lock_seconds)) as connection:
        found: dict[str, set[str]] = {}
        for table, column in connection.execute(COLUMNS):
            found.setdefault(table, set()).add(column)
    return {table: frozenset(columns) for table, columns in found.items()}


def _is_journal(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return "op_code" in json.loads(file.readline())
    except (ValueError, TypeError):
        return False


def _open_storage(url: URL | Path, heartbeat: int | None, create: bool) -> BaseStorage:
    if isinstance(url, Path):
        return JournalStorage(JournalFileBackend(str(url)))
    backend = url.get_backend_name()
    timeout = {"sqlite": "timeout", "postgresql": "connect_timeout", "mysql": "connect_timeout"}.get(backend)
    seconds = STORAGE.lock_seconds if backend == "sqlite" else STORAGE.connect_seconds
    engine: dict[str, Any] = {"connect_args": {timeout: seconds} if timeout else {}}
    if backend != "sqlite":
        engine["pool_pre_ping"] = True  # a connection that a firewall has dropped is made anew
    # Optuna takes braces for a placeholder of its own.
    text = url.render_as_string(hide_password=False).replace("{", "{{").replace("}", "}}")
    again = None if heartbeat is None else RetryHeartbeatStaleTrialCallback(STORAGE.max_retries)
    return optuna.storages.get_storage(
        RDBStorage(
            text,
            engine,
            heartbeat_interval=heartbeat,
            heartbeat_stale_trial_callback=again,
            skip_table_creation=not create,
        )
    )


def _find_study(storage: BaseStorage, name: str | None, create: Definition | None, address: str) -> optuna.Study:
    names = [found.study_name for found in optuna.get_all_study_summaries(storage, include_best_trial=False)]
    if name is None:
        if len(names) != 1:
            which = f"has the studies {', '.join(map(repr, names))}; name one with --study" if names else "has no study"
            raise SettingsError(f"{address} {which}.")
        name = names[0]
    if name not in names:
        if create is None:
            raise SettingsError(f"{address} has no study {name!r}" + (f"; it has {names}." if names else "."))
        directions = [StudyDirection[name.upper()] for name in directions_of(create.direction, create.goals)]
        return optuna.create_study(storage=storage, study_name=name, directions=directions, load_if_exists=True)
    return optuna.load_study(study_name=name, storage=storage)


def _settle(study: optuna.Study, given: Definition | None, write: bool) -> tuple[Definition | None, XstarSampler]:
    """The definition that holds, kept in the study if it is new; and the sampler that it asks for."""
    directions = [direction.name.lower() for direction in study.directions]
    kept = study.user_attrs.get(DEFINITION)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # nobody can rename what an old study has kept
        stored = None if kept is None else Definition.parse(kept, study.study_name)
    if given is None:
        definition = stored
    else:
        definition = given
        if directions_of(given.direction, given.goals) != directions:
            raise SettingsError(
                f"the study {study.study_name!r} is there already, to {' and '.join(directions)}; its definition says "
                f"{given.goals or given.direction}. Give the definition another name."
            )
        if stored is not None:
            _check_compatible(stored, given)
        table = {key: value for key, value in (given.table or {}).items() if key not in PRIVATE}
        if write and table != kept:
            study.set_user_attr(DEFINITION, table)
        if write and given.goals is not None and study.metric_names is None:
            study.set_metric_names(list(given.goals.objectives))
    sampler = _sampler(definition)
    study.sampler = sampler
    return definition, sampler


def _check_compatible(old: Definition, new: Definition) -> None:
    if _kinds_of_outputs(old) != _kinds_of_outputs(new):
        raise SettingsError(
            f"the outputs were {old.goals or old.result} when the study began and are {new.goals or new.result} now; "
            "bounds may change, but neither outputs nor what is wanted of them. Give the definition another name."
        )
    for name, parameter in new.space.parameters.items():
        before = old.space.parameters.get(name)
        if before is None:
            continue
        try:
            check_distribution_compatibility(records.to_distribution(before), records.to_distribution(parameter))
        except ValueError as error:
            raise SettingsError(
                f'parameter "{name}" was {before!r} when the study began and is {parameter!r} now; ranges may change, '
                "but neither the kind of a parameter nor its choices. Give the definition another name."
            ) from error


def _kinds_of_outputs(definition: Definition) -> list[tuple[str, str]]:
    """The outputs by name, with what cannot change once there are values of them; a single one has no name."""
    goals = definition.goals
    if goals is None:
        return []
    return [
        *((name, str(item.direction)) for name, item in goals.objectives.items()),
        *((name, item.sense) for name, item in goals.constraints.items()),
    ]


def _sampler(definition: Definition | None) -> XstarSampler:
    if definition is None:
        return XstarSampler(stale_after=None, warn_independent_sampling=False)
    settings: dict[str, Any] = {
        "seed": definition.seed, "method": definition.method, "n_startup_trials": definition.num_initial,
        "noise": definition.noise, "search_space": definition.space.parameters,
        "stale_after": definition.stale_after, "warn_independent_sampling": False,
    }  # fmt: skip
    return XstarSampler(**settings) if definition.goals is None else SamplerOfOutputs(definition.goals, **settings)


@contextmanager
def _complaints(address: str) -> Iterator[None]:
    """Whatever a database may raise while it is opened, as one sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    except XstarError:
        raise
    except ImportError as error:
        raise SettingsError(
            f"{address} needs a driver that is not installed ({error}); for PostgreSQL: pip install "
            "'xstar[postgresql]'."
        ) from error
    except sqlalchemy.exc.ProgrammingError as error:
        raise FileError(f"the storage {address} has no studies of Optuna: {brief(error)}") from error
    except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.OptunaError, OSError, RuntimeError, ValueError) as error:
        raise FileError(f"the storage {address} cannot be opened: {brief(error)}") from error


def brief(error: BaseException) -> str:
    """Return the first line of what an exception says, or its cause, where Optuna or SQLAlchemy have wrapped it."""
    cause = getattr(error, "orig", None) or error.__cause__
    text = str(getattr(cause, "orig", None) or cause or error).strip() or type(error).__name__
    first = text.splitlines()[0].strip()
    return first if first.endswith(".") else f"{first}."
