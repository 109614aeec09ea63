"""Gaussian processes: kernels, hyperparameters, the exact posterior, inference and sample paths."""

from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.inference import MAP, Fixed, Inference, Inferred, PosteriorMean, SliceSampling
from xstar.gp.kernels import Kernel, Matern52, SquaredExponential
from xstar.gp.outputs import Outputs
from xstar.gp.paths import Paths, draw_paths
from xstar.gp.posterior import Posterior
from xstar.gp.priors import CommonScale, Gamma, Prior
from xstar.gp.scores import ApproximationSettings

__all__ = [
    "MAP",
    "ApproximationSettings",
    "CommonScale",
    "Fixed",
    "Gamma",
    "Hyperparameters",
    "Inference",
    "Inferred",
    "Kernel",
    "Matern52",
    "Outputs",
    "Paths",
    "Posterior",
    "PosteriorMean",
    "Prior",
    "SliceSampling",
    "SquaredExponential",
    "draw_paths",
]
