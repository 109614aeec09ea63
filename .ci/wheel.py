"""Build the wheel, and try it where nothing else is: in an empty environment of every Python that it promises.

    python .ci/wheel.py [folder]

Each of 3.11, 3.12 and 3.13 that is on this machine installs the wheel, imports every module, finds a maximum, and runs
the command. At least one must be there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from pythons import VERSIONS, find

ROOT = Path(__file__).parents[1]
LARGEST = 1_000_000
"""Bytes of the wheel."""
HEAVY = ("matplotlib", "pandas", "plotly", "sklearn", "torch")
"""What the wheel must not bring."""
OPTIONAL = ("xstar.integrations.sklearn", "xstar.numerics.torch_namespace")
"""Modules that need what only an extra brings."""
SMOKE = f"""
import importlib, importlib.util, pkgutil, sys, xstar
for name in {HEAVY!r}:
    assert importlib.util.find_spec(name) is None, name + " came with the wheel"
optional = lambda name: name.startswith({OPTIONAL!r}) or sys.exit(name + " cannot be imported")
for module in pkgutil.walk_packages(xstar.__path__, "xstar.", optional):
    if not module.name.startswith({OPTIONAL!r}):
        importlib.import_module(module.name)
result = xstar.maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=10, seed=0, progress=False)
assert abs(result.x[0] - 0.3) < 0.02, result
assert "<style>" in result.report("page.html").read_text(encoding="utf-8"), "the report has its style"
print(sys.version.split()[0], "finds", round(float(result.x[0]), 3))
"""


def main(folder: Path) -> None:
    """Build, look at what is in the wheel, and try it with every Python."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    size = wheel.stat().st_size
    names = zipfile.ZipFile(wheel).namelist()
    assert size < LARGEST, f"{wheel.name} has {size} bytes"
    assert "xstar/py.typed" in names, "type checkers look for this file"
    strange = [
        name for name in names if not name.startswith(("xstar/", f"xstar-{wheel.name.split('-')[1]}.dist-info/"))
    ]
    assert not strange, f"what is not the package is in the wheel: {strange}"
    print(f"{wheel.name}: {size / 1e3:.0f} kB, {len(names)} files")
    pythons = [python for version in VERSIONS if (python := find(version))]
    assert pythons, f"none of {', '.join(VERSIONS)} is on this machine"
    for python in pythons:
        with tempfile.TemporaryDirectory() as place:
            subprocess.run([python, "-m", "venv", place], check=True)
            own = Path(place) / "bin" / "python"
            subprocess.run([own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
            subprocess.run([own, "-W", "error", "-c", SMOKE], check=True, cwd=place)
            for arguments in (["--version"],):
                subprocess.run([own.with_name("xstar"), *arguments], check=True, cwd=place, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as empty:
            main(Path(empty))
