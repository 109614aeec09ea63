"""Where a maximum is looked for: legal points, and a restriction that what is learned elsewhere puts on them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from xstar.numerics.arrays import HostArray
from xstar.search.box import Objective
from xstar.search.domain import Domain


class Restriction(Protocol):
    """A soft restriction of the domain; `xstar.feasibility.Feasibility` is one."""

    def penalty(self, X: HostArray, /) -> HostArray:
        """Return what is added to a log density of maximizers at points (m, d): zero where nothing holds them back."""

    def restrict(self, objective: Objective, /) -> Objective:
        """Return the functions, penalized where the restriction holds."""

    def binds(self, X: HostArray, /) -> HostArray:
        """Return whether the restriction may hold back a maximum that was found at points (m, d); shape (m,)."""


class Region(NamedTuple):
    """The legal points, of which a restriction may favor some."""

    domain: Domain
    restriction: Restriction | None = None
