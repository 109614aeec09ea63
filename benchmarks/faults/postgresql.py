"""A PostgreSQL server of one's own: in a temporary folder, on a free port of this machine only."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HANG = 1200.0
"""Seconds after which a server is taken to hang, however busy the machine."""


class NoServer(Exception):
    """No server can be started here; the message says why."""


def find_binaries() -> Path:
    """The folder of the newest server on this machine."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"),
        key=lambda folder: [int(number) for number in re.findall(r"\d+", folder.parent.name)],
    )
    found = next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)
    on_path = shutil.which("initdb")
    if found is None and on_path is None:
        raise NoServer("no PostgreSQL server on this machine (initdb is neither in /usr/lib/postgresql nor on PATH)")
    return found or Path(str(on_path)).resolve().parent


def find_user() -> Any:
    """As whom to run the server, which refuses to run as root: postgres or nobody then; None for who we are."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = known.get("postgres") or known.get("nobody")
    if user is None:
        raise NoServer("PostgreSQL does not run as root")
    return user


def find_port() -> int:
    """One that nobody listens on, and that the system gives to no client while the server is away."""
    for port in itertools.islice(iter(lambda: random.randint(15_000, 30_000), None), 100):
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
    raise NoServer("no port of a hundred is free")


class Server:
    """A server with its data in a folder, which its user must be able to enter."""

    def __init__(self, binaries: Path, folder: Path, user: Any) -> None:
        self.binaries, self.folder, self.data = binaries, folder, folder / "data"
        self.who: dict[str, Any] = (
            {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        )
        self._run("initdb", "--no-sync", "--auth=trust", "--username=tester", "--encoding=UTF8", "--locale=C")
        self.port = find_port()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.binaries / program), f"--pgdata={self.data}", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=HANG, check=False, **self.who
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command}\n{done.stdout}{done.stderr}")

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        log = f"--log={self.folder / 'log'}"
        self._run("pg_ctl", "start", "--wait", f"--timeout={HANG:.0f}", log, f"--options={settings}")

    def stop(self) -> None:
        """End it at once, as a crash would."""
        self._run("pg_ctl", "stop", "--mode=immediate", f"--timeout={HANG:.0f}")

    @property
    def url(self) -> str:
        """Of its database, for SQLAlchemy."""
        return f"postgresql+psycopg://tester@127.0.0.1:{self.port}/postgres"


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A server that runs meanwhile."""
    binaries, user = find_binaries(), find_user()
    # A folder that others may enter: the server may be another user.
    with tempfile.TemporaryDirectory(prefix="xstar-postgresql-") as name:
        if user is not None:
            os.chown(name, user.pw_uid, user.pw_gid)
        server = Server(binaries, Path(name), user)
        server.start()
        try:
            yield server
        finally:
            server.stop()
