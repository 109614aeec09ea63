"""The page of errors has all of them, and none that the library does not raise."""

import re
from pathlib import Path

from website.messages import messages

PAGE = (Path(__file__).parents[2] / "docs" / "faq.md").read_text(encoding="utf-8")
ERRORS = PAGE.split("\n## Errors and warnings\n")[1]
CLASSES = {"DegradedWarning", "SpaceExhausted"}
QUOTED = {
    quoted
    for row in re.findall(r"^\| (`.*?) \| ", ERRORS, re.MULTILINE)
    for quoted in re.findall(r"`([^`]+)`", row)
    if quoted not in CLASSES
}
"""The beginnings or middles of messages, from the first cells of the tables."""


def test_every_message_is_on_the_page():
    """New ones belong into a row of docs/faq.md, those that mean the same into one."""
    missing = [m for m in messages() if not m.inner and not any(quoted in m.text for quoted in QUOTED)]
    assert [f"{m.place}: {m.text}" for m in missing] == []


def test_the_page_has_no_message_that_nobody_says():
    said = [message.text for message in messages()]
    assert sorted(quoted for quoted in QUOTED if not any(quoted in text for text in said)) == []


def test_every_class_of_errors_is_in_the_reference():
    from xstar import errors

    names = {name for name, thing in vars(errors).items() if isinstance(thing, type)}
    assert "xstar.errors" in (Path(__file__).parents[2] / "docs" / "reference" / "errors.md").read_text("utf-8")
    assert len(names) > 5
    assert len(QUOTED) > 100
