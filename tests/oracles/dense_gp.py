"""A GP for one data set and one hyperparameter vector, written from the textbook with explicit inverses and loops."""

import math

import numpy as np


def squared_exponential(x, z, lengthscales, amplitude):
    return amplitude**2 * math.exp(-0.5 * sum((a - b) ** 2 / c**2 for a, b, c in zip(x, z, lengthscales, strict=True)))


def matern52(x, z, lengthscales, amplitude):
    r = math.sqrt(sum((a - b) ** 2 / c**2 for a, b, c in zip(x, z, lengthscales, strict=True)))
    return amplitude**2 * (1.0 + math.sqrt(5.0) * r + 5.0 * r**2 / 3.0) * math.exp(-math.sqrt(5.0) * r)


def gram(kernel, X, Z, lengthscales, amplitude):
    return np.array([[kernel(x, z, lengthscales, amplitude) for z in Z] for x in X]).reshape(len(X), len(Z))


def posterior(kernel, lengthscales, amplitude, noise_variances, X, y, Z):
    """Mean and covariance of f at Z given y at X."""
    inverse = np.linalg.inv(gram(kernel, X, X, lengthscales, amplitude) + np.diag(noise_variances))
    cross = gram(kernel, Z, X, lengthscales, amplitude)
    return cross @ inverse @ y, gram(kernel, Z, Z, lengthscales, amplitude) - cross @ inverse @ cross.T


def log_evidence(kernel, lengthscales, amplitude, noise_variances, X, y):
    """log N(y | 0, K)."""
    covariance = gram(kernel, X, X, lengthscales, amplitude) + np.diag(noise_variances)
    _, logdet = np.linalg.slogdet(covariance)
    return -0.5 * (y @ np.linalg.inv(covariance) @ y + logdet + len(y) * math.log(2.0 * math.pi))
