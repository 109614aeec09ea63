"""Difference quotients of fourth order: slow, obvious derivatives to hold closed forms against."""

import numpy as np

STENCIL = ((-2, 1.0 / 12.0), (-1, -2.0 / 3.0), (1, 2.0 / 3.0), (2, -1.0 / 12.0))


def gradient(function, x, step=1e-3):
    """d function(x) / d x_i for a vector x, the coordinate on a new last axis; error about step^4."""
    columns = []
    for i in range(len(x)):
        shift = np.zeros(len(x))
        shift[i] = step
        columns.append(sum(weight * function(x + k * shift) for k, weight in STENCIL) / step)
    return np.stack(columns, axis=-1)


def hessian(function, x, step=1e-3):
    """d^2 function(x) / d x_i d x_j, on two new last axes."""
    return gradient(lambda z: gradient(function, z, step), x, step)
