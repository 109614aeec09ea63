"""Write the tables of README and docs, or say which are out of date.

python -m benchmarks.published [--check]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.published.pages import PAGES, ROOT, Page


def main(arguments: Sequence[str] | None = None, pages: Sequence[Page] = PAGES, root: Path = ROOT) -> None:
    """Do what the command line says; `--check` ends with an error if a page is not current."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.published", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; name the tables that are out of date")
    if parser.parse_args(arguments).check:
        found = [f"{page.path}: {name}" for page in pages for name in page.stale(root)]
        if found:
            raise SystemExit("not what the results say, `make tables` writes them:\n" + "\n".join(found))
    else:
        for page in pages:
            print(f"{'written' if page.write(root) else 'current'}: {page.path}")


if __name__ == "__main__":
    main()
