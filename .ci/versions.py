"""Test with the oldest versions that pyproject.toml allows, and with the newest that there are.

    python .ci/versions.py

Each environment is made anew, with what users install and a test runner. A Python that is not on this machine is
skipped, and named; one at least must be there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pythons import find

ROOT = Path(__file__).parents[1]
OLDEST = ROOT / ".ci" / "oldest.txt"
ENVIRONMENTS = {"oldest": ("3.11", ["--constraint", str(OLDEST)]), "newest": ("3.13", [])}
"""The Python of each, and how pip chooses."""
WANTED = f"{ROOT}[plots,dashboard,sklearn,postgresql,completion]"
"""What a user may have, but for torch and clusters, which are large; `make test-extras` has them."""
RUNNER = ("array-api-strict", "hypothesis", "pandas", "pytest")
TESTS = (
    "tests/test_space.py", "tests/test_optimizer.py", "tests/test_data.py", "tests/files", "tests/gp/test_posterior.py",
    "tests/cli/test_commands.py", "tests/integrations/test_adapter.py", "tests/integrations/test_optuna.py",
    "tests/integrations/test_snapshot.py",
)  # fmt: skip
"""What meets the packages: arrays and LAPACK, spaces, optimizers, files, commands, Optuna and its databases."""
SHOW = (
    "from importlib.metadata import version as v; import sys; print(*(f'{n} {v(n)}' for n in sys.argv[1:]), sep=', ')"
)


def main() -> None:
    """Make the environments, one after the other, and run the tests in each."""
    tested = [name for name, (version, chosen) in ENVIRONMENTS.items() if try_out(name, version, chosen)]
    assert tested, "none of the Pythons is on this machine"
    print(f"tested with the {' and the '.join(tested)} versions")


def try_out(name: str, version: str, chosen: list[str]) -> bool:
    """Whether the Python is there; whatever fails ends it."""
    python = find(version)
    if python is None:
        print(f"the {name} versions are not tested: python{version} is not on this machine")
        return False
    # Nothing of ours may make a test pass: the package is the one that is installed.
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([python, "-m", "venv", place], check=True)
        own = str(Path(place) / "bin" / "python")
        pip = [own, "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *chosen, WANTED, *RUNNER], check=True, env=environment)
        subprocess.run([*pip, "check"], check=True, env=environment)
        shown = ("numpy", "scipy", "optuna", "sqlalchemy", "array-api-compat")
        print(f"Python {version} with the {name}:", end=" ", flush=True)
        subprocess.run([own, "-c", SHOW, *shown], check=True, env=environment)
        test = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        subprocess.run([*test, *sys.argv[1:], *TESTS], check=True, env=environment, cwd=ROOT)
    return True


if __name__ == "__main__":
    main()
