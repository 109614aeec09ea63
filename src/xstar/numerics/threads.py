"""How many threads linear algebra may use.

The matrices of one suggestion are small: on many cores, waiting for each other costs several times what the work does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def limited_threads(count: int | None) -> Iterator[None]:
    """Let BLAS and OpenMP use `count` threads inside the block; None leaves them alone."""
    if count is None:
        yield
        return
    # SciPy has a BLAS of its own, which is loaded when it is first needed: inside the block that would be too late.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=count):
        yield
