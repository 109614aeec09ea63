"""Make pages of the notebooks when the site is built: their text, their code, and what it has put out.

mkdocs calls `on_files`, which adds a page of Markdown and its pictures for each executed notebook, and
`on_page_content`, which puts in the outputs that are HTML. Nothing is executed: the notebooks are as
`website.notebooks` has made them. They are offered for download beside their pages.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MARK = '<div class="output" data-cell="{}"></div>'
FENCE = "`````"
_outputs: dict[str, dict[str, str]] = {}
"""The outputs of each page that are HTML, by the marks that stand for them."""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    from mkdocs.structure.files import File  # only `make docs` needs it

    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            for made in pages(file.src_uri, json.loads(Path(str(file.abs_src_path)).read_text(encoding="utf-8"))):
                files.append(File.generated(config, made[0], content=made[1]))
    return files


def on_page_content(page_html: str, page: Any, **_: Any) -> str:
    """Put in the outputs that are HTML, which Markdown has not touched."""
    for mark, output in _outputs.get(page.file.src_uri, {}).items():
        page_html = page_html.replace(mark, output)
    return page_html


def pages(name: str, notebook: Mapping[str, Any]) -> Iterator[tuple[str, str | bytes]]:
    """Yield the page of a notebook and its pictures: where they are among the pages, and what is in them."""
    stem = name.removesuffix(".ipynb")
    description = json.dumps(notebook["metadata"]["description"], ensure_ascii=False)
    parts = [f"---\ndescription: {description}\nhide: [navigation]\n---\n"]
    pictures, outputs = 0, dict[str, str]()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            if len(parts) == 2:
                parts.append(f'[Download this notebook]({Path(name).name}){{ .md-button download="" }}')
            continue
        parts.append(f"{FENCE}python\n{source}\n{FENCE}")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                pictures += 1
                picture = f"{stem}-{pictures}.png"
                yield picture, base64.b64decode("".join(data["image/png"]))
                shown = html.escape(source.strip().splitlines()[-1])
                parts.append(f'<div class="output picture" markdown>\n\n![{shown}]({Path(picture).name})\n\n</div>')
            elif "text/html" in data:
                mark = MARK.format(f"{stem}-{len(outputs)}")
                outputs[mark] = f'<div class="output">{_bare("".join(data["text/html"]))}</div>'
                parts.append(mark)
            else:
                text = "".join(output.get("text", data.get("text/plain", "")))
                parts.append(f'{FENCE}text title="Output"\n{text.rstrip()}\n{FENCE}')
    _outputs[f"{stem}.md"] = outputs
    yield f"{stem}.md", "\n\n".join(parts) + "\n"


def _bare(output: str) -> str:
    """HTML without styles and frames of its own: the site has them."""
    output = re.sub(r"<style.*?</style>", "", output, flags=re.DOTALL)
    return output.replace(' border="1"', "").replace(' style="text-align: right;"', "")
