"""The Pythons of this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13")
"""What xstar promises to run on."""


def find(version: str) -> str | None:
    """The interpreter of a version; where pyenv chooses among several, the newest that it has."""
    candidates = [shutil.which(f"python{version}")]
    pyenv = shutil.which("pyenv")
    if pyenv is not None:
        root = subprocess.run([pyenv, "root"], check=True, capture_output=True, text=True).stdout.strip()
        candidates += sorted(map(str, Path(root).glob(f"versions/{version}.*/bin/python{version}")), reverse=True)
    for candidate in filter(None, candidates):
        works = subprocess.run([candidate, "-c", "import venv"], check=False, capture_output=True)
        if works.returncode == 0:
            return candidate
    return None
