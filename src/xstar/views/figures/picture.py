"""What a picture is, whichever library draws it: panels with axes, and marks on them.

    Picture    a title, a sentence about what is shown, panels in columns
    Panel      marks between two axes
    Axis       a label, a range, a logarithm, named ticks
    Line, Band, Points, Field, Bars, Rule    the marks; what has a name is in the legend

Everything is plain numbers and words. `views.drawing.static` makes figures of matplotlib of it,
`views.drawing.interactive` those of plotly; neither knows anything of optimizers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, TypeAlias

BLUE, ORANGE, GREEN, SKY, PURPLE, YELLOW = "#0072b2", "#d55e00", "#009e73", "#56b4e9", "#cc79a7", "#f0e442"
BLACK, GREY, PALE = "#222222", "#767676", "#c8c8c8"
"""Colors that remain different for color-blind readers [Okabe and Ito, Color universal design, 2008]."""
PLACES = (BLUE, ORANGE, GREEN, PURPLE, SKY)
"""Those of the places where the optimum may be, in turn."""

Numbers: TypeAlias = Sequence[float]


class Kind(StrEnum):
    """What a point stands for; each has a shape and a color of its own."""

    TOLD = "told"
    FAILED = "failed"
    RUNNING = "running"
    OPTIMUM = "optimum, sampled"
    RECOMMENDED = "recommended"
    HERE = "this point"
    SURPRISE = "surprising"
    BEYOND = "beyond the axis"
    INFEASIBLE = "infeasible"
    NONDOMINATED = "not dominated"
    COMPROMISE = "recommended compromise"
    REFERENCE = "reference point"


@dataclass(frozen=True)
class Axis:
    """One axis of a panel."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    """The range; that of the marks if it is None."""
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    """Places that have names; if there are none, the library that draws chooses numbers."""
    reversed: bool = False
    """Whether the first place is at the top."""
    percent: bool = False
    whole: bool = False
    """Whether only whole numbers mean something."""

    def without_names(self) -> Axis:
        """Return the same axis for a panel beside one that has the names."""
        return replace(self, label="", ticks=tuple((place, "") for place, _ in self.ticks))


@dataclass(frozen=True)
class Line:
    """A line through points, or steps."""

    x: Numbers
    y: Numbers
    name: str = ""
    color: str = BLUE
    width: float = 2.0
    dashed: bool = False
    steps: bool = False
    filled: bool = False
    """Whether the area down to 0 is filled."""
    marked: bool = False
    """Whether its points are marked."""
    labels: tuple[str, ...] = ()
    """What stands above its points."""
    opacity: float = 1.0


@dataclass(frozen=True)
class Band:
    """What lies between two lines."""

    x: Numbers
    low: Numbers
    high: Numbers
    name: str = ""
    color: str = BLUE


@dataclass(frozen=True)
class Points:
    """Single points, each maybe with an interval, faded, and with a note that the mouse shows."""

    x: Numbers
    y: Numbers
    kind: Kind
    name: str | None = None
    """In the legend; that of the kind if it is None, none if it is empty."""
    notes: Sequence[str] = ()
    opacity: Sequence[float] | float = 1.0
    color: str | None = None
    """Instead of the kind's own."""
    low: Numbers | None = None
    high: Numbers | None = None
    """The ends of intervals along y."""
    left: Numbers | None = None
    right: Numbers | None = None
    """And along x."""
    upright: bool = False
    """Drawn as upright strokes, for samples along an axis."""

    @property
    def label(self) -> str:
        """What the legend calls them."""
        return str(self.kind) if self.name is None else self.name


@dataclass(frozen=True)
class Field:
    """A surface over two coordinates, as colors; `cells` if it has no values between."""

    x: Numbers
    y: Numbers
    z: Sequence[Numbers]
    """A row for each y."""
    name: str
    low: float
    high: float
    """Where the colors end; what is beyond has the last one."""
    palette: Literal["values", "bits"] = "values"
    cells: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars from 0, each maybe with an interval."""

    at: Numbers
    lengths: Numbers
    name: str = ""
    colors: tuple[str, ...] = (BLUE,)
    """One, or one for each."""
    low: Numbers | None = None
    high: Numbers | None = None
    notes: Sequence[str] = ()
    horizontal: bool = False
    thickness: float = 0.8


@dataclass(frozen=True)
class Rule:
    """A straight line across a panel: upright at an x, or level at a y."""

    at: float
    name: str = ""
    color: str = GREY
    level: bool = False
    dashed: bool = False


Mark: TypeAlias = Line | Band | Points | Field | Bars | Rule


@dataclass(frozen=True)
class Panel:
    """Marks between two axes; without marks, a note only."""

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    note: str = ""
    """In its middle: why there is nothing."""

    @property
    def alternative(self) -> str:
        """What is drawn, in words."""
        axes = " over ".join(filter(None, [self.y.label, self.x.label]))
        names = [mark.label if isinstance(mark, Points) else mark.name for mark in self.marks]
        marks = ", ".join(filter(None, dict.fromkeys(names)))
        return ": ".join(filter(None, [self.title, axes, marks]))


@dataclass(frozen=True)
class Picture:
    """Panels under a title, in rows of `columns`."""

    title: str
    said: str
    """What is shown, and what is held fixed."""
    panels: tuple[Panel, ...]
    columns: int
    legend: bool = True
    empty: frozenset[int] = field(default_factory=frozenset)
    """Cells of the grid, counted by rows, that stay empty: panels take the others in turn."""
    size: tuple[float, float] = (4.9, 3.7)
    """Width and height of a panel, in inches."""

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Row and column of each panel."""
        free = (k for k in range(len(self.panels) + len(self.empty)) if k not in self.empty)
        return [divmod(k, self.columns) for k in free]

    @property
    def shown(self) -> list[Panel]:
        """The panels as they are drawn side by side: names that the left neighbor has are not repeated."""
        at = dict(zip(self.cells, self.panels, strict=True))
        left = [at.get((row, column - 1)) for row, column in self.cells]
        return [
            replace(panel, y=panel.y.without_names())
            if panel.y.ticks and before is not None and before.y == panel.y
            else panel
            for panel, before in zip(self.panels, left, strict=True)
        ]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return 1 + max((row for row, _ in self.cells), default=0)

    @property
    def has_legend(self) -> bool:
        """Whether anything in it has a name: fields have scales of their own."""
        marks = [mark for panel in self.panels for mark in panel.marks if not isinstance(mark, Field)]
        return self.legend and any(mark.label if isinstance(mark, Points) else mark.name for mark in marks)

    @property
    def alternative(self) -> str:
        """The picture in words, for readers who do not see it."""
        panels = "; ".join(filter(None, dict.fromkeys(panel.alternative for panel in self.panels)))
        return ". ".join(filter(None, [self.title, self.said, f"Panels: {panels}" if panels else ""])) + "."

    def apart(self) -> list[Picture]:
        """Return each panel as a picture of its own; what has empty cells is a grid, which stays together."""
        if self.empty:
            return [self]
        return [replace(self, said="", panels=(panel,), columns=1) for panel in self.panels]
