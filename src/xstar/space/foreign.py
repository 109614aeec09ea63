"""Parameters as other libraries write them.

    (0.0, 1.0)                      bounds, as everywhere
    (1, 100, "log-uniform")         scikit-optimize; also its Real, Integer and Categorical
    ["relu", "gelu"]                choices, as in the grids of scikit-learn
    scipy.stats.loguniform(a, b)    also uniform and randint, as for RandomizedSearchCV
    scipy.optimize.Bounds(lb, ub)   a whole space

None of these libraries is imported: what is asked of their objects is said here.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard

import numpy as np

from xstar.errors import SpaceError
from xstar.space.listed import Categorical
from xstar.space.parameters import Integer, Parameter, Real, naming

PRIORS = ("uniform", "log-uniform")
"""How scikit-optimize says whether a range is searched by its logarithm."""
KNOWN = (
    "a Real, an Integer, a Categorical or an Ordinal, for example Real(0, 1); or a pair (low, high) of numbers with a "
    'point, (low, high, "log-uniform"), a list of choices, or loguniform, uniform or randint of scipy.stats'
)


def parameter_of(described: Any, name: str, *, positional: bool = False) -> Parameter:
    """Return the parameter that is described; in a list of bounds, any pair of numbers is one of reals."""
    if isinstance(described, Parameter):
        return described
    with naming(name):
        found = (
            _from_distribution(described, name)
            or _from_dimension(described)
            or _from_sequence(described, name, positional)
        )
    if found is None:
        raise SpaceError(f'parameter "{name}" must be {KNOWN}; {got(described)}')
    return found


class Bounds(Protocol):
    """What is asked of bounds; those of SciPy have it."""

    lb: Any
    ub: Any


def is_bounds(spec: Any) -> TypeGuard[Bounds]:
    """Whether these are bounds of SciPy."""
    return hasattr(spec, "lb") and hasattr(spec, "ub")


def pairs_of(bounds: Bounds) -> list[tuple[float, float]]:
    """Return the pairs (low, high) of SciPy's bounds."""
    low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _from_distribution(described: Any, name: str) -> Parameter | None:
    """From a distribution of scipy.stats with its arguments given."""
    if not (hasattr(described, "support") and (hasattr(described, "dist") or hasattr(described, "sample"))):
        return None
    kind = getattr(getattr(described, "dist", None), "name", type(described).__name__.lower())
    low, high = (float(end) for end in described.support())
    if kind == "randint":
        return Integer(int(low), int(high))
    if kind == "uniform":
        return Real(low, high)
    if kind in ("loguniform", "reciprocal"):
        # With a location, it is no longer even by its logarithm.
        middle = float(described.median())
        if abs(middle - (low * high) ** 0.5) > 1e-6 * middle:
            raise SpaceError(f'parameter "{name}" is a loguniform distribution with a location; leave loc out.')
        return Real(low, high, log=True)
    raise SpaceError(
        f'parameter "{name}" is the distribution {kind!r}; loguniform, uniform and randint are understood. A '
        "distribution is only read for its range: write that as Real(low, high)."
    )


def _from_dimension(described: Any) -> Parameter | None:
    """From a dimension of scikit-optimize."""
    if hasattr(described, "categories") and not isinstance(described, Mapping):
        return Categorical(described.categories)
    if not (hasattr(described, "low") and hasattr(described, "high") and hasattr(described, "prior")):
        return None
    kind = Integer if type(described).__name__ == "Integer" else Real
    return kind(described.low, described.high, log=described.prior == "log-uniform")


def _from_sequence(described: Any, name: str, positional: bool) -> Parameter | None:
    if isinstance(described, np.ndarray):
        described = described.tolist()
    if not isinstance(described, list | tuple) or not described:
        return None
    numeric = [isinstance(item, numbers.Real) and not isinstance(item, bool | np.bool_) for item in described]
    if len(described) == 3 and numeric == [True, True, False] and described[2] in PRIORS:
        low, high, prior = described
        # As scikit-optimize reads them: two whole numbers are those of whole numbers.
        whole = all(isinstance(end, numbers.Integral) for end in (low, high))
        return (Integer if whole else Real)(low, high, log=prior == "log-uniform")
    if positional and len(described) == 2 and any(numeric):
        return Real(*described)
    if isinstance(described, list) or not any(numeric):
        return Categorical(described)
    if len(described) == 2 and all(numeric):
        if all(isinstance(end, numbers.Integral) for end in described):
            low, high = described
            raise SpaceError(
                f'parameter "{name}" is {described!r}, which may mean whole numbers or all numbers; write '
                f"Integer({low}, {high}) or Real({low}, {high})."
            )
        return Real(*described)
    return None


def got(value: Any) -> str:
    """What was received, in not too many words."""
    text = repr(value)
    return f"received {text if len(text) <= 80 else text[:77] + '...'}."
