"""Files that are written whole or not at all.

The new content goes to a file beside the old one, which then takes its name. What is no file (a terminal, a pipe,
/dev/null) is written to and stays what it is. A process that is killed while it writes leaves its part behind; whoever
writes there next removes it.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path

from xstar.errors import FileError
from xstar.files.identity import identity, is_gone

MARK = re.compile(r"\.(?P<machine>[0-9a-f]+)-(?P<process>\d+)-(?P<start>\d+)\.[^.]+\.part")
"""How the name of a part ends: who writes it, and letters that no other part has."""
STRAY_SECONDS = 86_400.0
"""A part of another machine, or of an older version, is stray when nobody has written to it for so long."""
LONGEST = 100
"""Letters of a file's name in that of its part: names have an end."""


def write_text(path: Path, text: str) -> None:
    """Replace a file's content by a text, in UTF-8."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file's content atomically, and make sure that it is on the disk."""
    # Through a link to what it points at.
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileError(f"there is no folder {str(path.parent)!r} to write {path.name!r} into.")
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder; name a file in it, such as {str(path / 'study.json')!r}.")
    known = path.exists()
    try:
        if known and not path.is_file():
            with path.open("wb") as device:
                device.write(content)
        else:
            _replace(path, content)
    except OSError as error:
        closed = "; if it is open in another program, close it there" if isinstance(error, PermissionError) else ""
        old = " What it held before is intact." if known and path.is_file() else ""
        raise FileError(f"{str(path)!r} cannot be written: {error.strerror or error}{closed}.{old}") from error


def _replace(path: Path, content: bytes) -> None:
    _remove_strays(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{_beginning(path)}{_own_mark()}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _beginning(path: Path) -> str:
    return f".{path.name[:LONGEST]}."


def _own_mark() -> str:
    machine, process, start = identity()
    return f"{zlib.crc32(str(machine).encode()):x}-{process}-{start}"


def _remove_strays(path: Path) -> None:
    """Remove what processes have left that were killed while they wrote this file."""
    beginning, machine = _beginning(path), _own_mark().partition("-")[0]
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if not (entry.name.startswith(beginning) and entry.name.endswith(".part")):
                continue
            mark = MARK.fullmatch(entry.name[len(beginning) - 1 :])
            with suppress(OSError):
                if mark is not None and mark["machine"] == machine:
                    stray = is_gone(int(mark["process"]), int(mark["start"]))
                else:
                    stray = time.time() - entry.stat(follow_symlinks=False).st_mtime > STRAY_SECONDS
                if stray:
                    Path(entry.path).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system lets folders be opened."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
