"""Elements of a page. Content is markup; what comes from users goes through `text` or is an attribute."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from xstar.files.letters import visible


def text(value: object) -> str:
    """Return a text as markup.

    Examples
    --------
    >>> from xstar.views.report.markup import text
    >>> text("a < b")
    'a &lt; b'
    """
    return html.escape(visible(str(value)))


def element(name: str, *content: str, **attributes: str | None) -> str:
    """Return an element; attributes that are None are left out, and `class_` is class.

    Examples
    --------
    >>> from xstar.views.report.markup import element
    >>> element("td", "3.5", class_="number", title=None)
    '<td class="number">3.5</td>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(content)}</{name}>"


def section(title: str, *content: str) -> str:
    """Return a part of the page under a heading; its identifier is the first word."""
    name = title.split(maxsplit=1)[0].lower()
    return element("section", element("h2", text(title), id=name), *content, aria_labelledby=name)


def table(head: Sequence[str], rows: Iterable[str], caption: str, class_: str | None = None) -> str:
    """Return a table in a box of its own, which scrolls where the table is wider than the page."""
    headings = "".join(cell if cell.startswith("<th") else element("th", cell, scope="col") for cell in head)
    inner = [
        element("caption", element("span", text(caption))),
        element("thead", element("tr", headings)),
        "\n<tbody>\n",
        *rows,
        "</tbody>",
    ]
    return box(element("table", *inner, class_=class_), caption)


def row(title: str, *cells: str) -> str:
    """Return a row that begins with its title."""
    return element("tr", element("th", title, scope="row"), *(element("td", cell) for cell in cells)) + "\n"


def box(content: str, label: str) -> str:
    """Return content that scrolls by itself, with the keyboard too."""
    return element("div", content, class_="box", role="group", aria_label=label, tabindex="0")


def listed(items: Iterable[str]) -> str:
    """Return an unordered list."""
    return element("ul", *(element("li", item) for item in items))
