"""Look at the site that was built: nothing comes from elsewhere, every page has a head, every link leads somewhere.

    python -m website.check [site]

Links to other sites are listed and their form is checked; nothing is fetched.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

LOADED = {
    "img": "src",
    "script": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
}
"""The attribute that names what a browser fetches for an element. Links are told apart by their `rel`."""
FETCHED = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest"}
STYLE = re.compile(r"""(?:@import\s+|url\()\s*["']?([^"')\s]+)""")
HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?", re.IGNORECASE)
ELSEWHERE = ("http:", "https:", "//")


@dataclass
class Page(HTMLParser):
    """What a page of the site has in it."""

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    titles: int = 0
    description: str | None = None
    text: str = ""
    _in_style: bool = False

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Note what an element refers to."""
        given: Mapping[str, str] = {name: value or "" for name, value in attrs}
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        self.titles += tag == "h1"
        self._in_style = tag == "style"
        if tag == "meta" and given.get("name") == "description":
            self.description = given.get("content")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and FETCHED & set(given.get("rel", "").split()):
            self.loaded.append(given.get("href", ""))
        if LOADED.get(tag) in given:
            self.loaded.append(given[LOADED[tag]])
        self.loaded += STYLE.findall(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Keep the text, and what style sheets inside the page refer to."""
        if self._in_style:
            self.loaded += STYLE.findall(data)
        self.text += data


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with a site, a sentence each."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for address in page.loaded:
            if address.startswith(ELSEWHERE):
                yield f"{name} loads {address} from elsewhere."
            elif not address.startswith("data:") and not _target(site, path, address).exists():
                yield f"{name} loads {address}, which is not there."
        yield from (f"{name}: {wrong}" for wrong in _broken_links(site, page, pages))
    yield from _heads(site, pages)
    for style in site.rglob("*.css"):
        for address in STYLE.findall(style.read_text(encoding="utf-8")):
            if address.startswith(ELSEWHERE):
                yield f"{style.relative_to(site)} loads {address} from elsewhere."
    yield from _search(site, pages)
    yield from _reference(site, pages)


def external_links(site: Path) -> dict[str, list[str]]:
    """Return the links to other sites, each with the pages that have it."""
    found: dict[str, list[str]] = {}
    for path in sorted(site.rglob("*.html")):
        for link in Page(path).links:
            if link.startswith(ELSEWHERE):
                found.setdefault(link, []).append(str(path.relative_to(site)))
    return found


def _target(site: Path, page: Path, address: str) -> Path:
    """The file that an address on a page means."""
    here = "/" + page.relative_to(site).as_posix()
    path = site / unquote(urlsplit(urljoin(here, address)).path).lstrip("/")
    return path / "index.html" if path.is_dir() or address.endswith("/") else path


def _broken_links(site: Path, page: Page, pages: Mapping[Path, Page]) -> Iterator[str]:
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme in ("http", "https"):
            if not HOST.fullmatch(parts.netloc):
                yield f"the link {link} names no host."
            continue
        if parts.scheme in ("mailto", "data", "javascript"):
            continue
        target = page.path if not parts.path else _target(site, page.path, link)
        if not target.exists():
            yield f"the link {link} leads nowhere."
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids | {"__top"}:
            yield f"the link {link} leads to a place that the page does not have."


def _written(site: Path, pages: Mapping[Path, Page]) -> dict[str, Page]:
    """The pages that mkdocs has made of Markdown."""
    named = {path.relative_to(site).as_posix(): page for path, page in pages.items()}
    return {name: page for name, page in named.items() if name.endswith("index.html")}


def _heads(site: Path, pages: Mapping[Path, Page]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for name, page in _written(site, pages).items():
        if page.titles != 1:
            yield f"{name} has {page.titles} titles; it needs one."
        if not page.description:
            yield f"{name} has no description; write one in its front matter."
        elif page.description in seen:
            yield f"{name} has the description of {seen[page.description]}; write its own in its front matter."
        else:
            seen[page.description] = name


def _search(site: Path, pages: Mapping[Path, Page]) -> Iterator[str]:
    index = site / "search" / "search_index.json"
    if not index.exists():
        yield "there is no index to search."
        return
    locations = {entry["location"].split("#")[0] for entry in json.loads(index.read_text("utf-8"))["docs"]}
    for name in _written(site, pages):
        if name.removesuffix("index.html") not in locations:
            yield f"{name} is not in the index to search."


def _reference(site: Path, pages: Mapping[Path, Page]) -> Iterator[str]:
    home = site / "reference" / "running" / "index.html"
    if home not in pages or "xstar.Optimizer" not in pages[home].ids:
        yield "the reference has no xstar.Optimizer."
        return
    text = re.sub(r"\s+", " ", pages[home].text)
    if not re.search(r"Optimizer\( ?space: ?SpaceLike, direction: ?str = [\"']maximize[\"']", text):
        yield "the reference does not show the signature of xstar.Optimizer."
    # A heading with a module in it that users do not import from.
    for name in re.findall(r"(?:^|\s)(xstar\.(?:optimizer|run|space|trial|views|files)\.\w+)", text):
        yield f"the reference shows the private path {name}."


def main(arguments: Sequence[str] | None = None) -> None:
    """Say what is wrong; end with an error if anything is."""
    parser = argparse.ArgumentParser(
        "python -m website.check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("site", nargs="?", default="site", help="the folder that mkdocs has built")
    site = Path(parser.parse_args(arguments).site).resolve()
    if found := list(problems(site)):
        raise SystemExit("\n".join(found))
    elsewhere = external_links(site)
    print(f"{sum(1 for _ in site.rglob('index.html'))} pages; links to other sites:")
    print("\n".join(sorted(elsewhere)))


if __name__ == "__main__":
    main()
