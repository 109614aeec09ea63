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
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=count):
        yield
