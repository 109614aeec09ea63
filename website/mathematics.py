"""Write the formulas of the pages as MathML when the site is built: browsers show it without a script.

mkdocs calls `on_page_content` for every page. Formulas stand between dollar signs; pymdownx.arithmatex finds them.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\s*(?:\\\((?P<inline>.*?)\\\)|\\\[(?P<display>.*?)\\\])\s*</\1>', re.DOTALL
)


def on_page_content(page_html: str, **_: Any) -> str:
    """Replace the formulas in the HTML of a page."""
    return FORMULA.sub(_mathml, page_html)


def _mathml(found: re.Match[str]) -> str:
    inline = found["inline"] is not None
    source = html.unescape(found["inline"] if inline else found["display"])
    return str(convert(source.strip(), display="inline" if inline else "block"))
