"""The methods that are compared.

Four are those of the paper, with its model, a squared-exponential kernel: EI and PES average over samples of the
hyperparameters, ES and PES-NB use the mean of such samples. PES is the algorithm of 2014: its constraints take every
maximum for an interior one, its incumbent is the largest noisy value, and its paths are drawn from weights. The others
are xstar's as they come, the kernel chosen by the data. Known hyperparameters are given to all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.problems import Problem
from experiments.problems.within_model import LENGTHSCALE
from xstar import Method
from xstar.acquisition import EI, ES, MES, PES, Acquisition, LogEI, Thompson
from xstar.gp import Fixed, Hyperparameters, Inference, PosteriorMean, SliceSampling, SquaredExponential


@dataclass(frozen=True)
class Contender:
    """A method of xstar, and how figures show it."""

    title: str
    color: str
    acquisition: Callable[[], Acquisition | None]
    papers: bool = False
    """Whether it has the paper's kernel."""
    inference: Callable[[], Inference] = SliceSampling
    alone: bool = False
    """Whether it works on one problem at a time only."""

    def method(self, problem: Problem) -> Method:
        """For a problem."""
        if problem.name == "within-model":
            known = Hyperparameters(np.full(problem.dimension, LENGTHSCALE), 1.0, problem.noise)
            return Method(SquaredExponential(), Fixed(known), self.acquisition())
        if self.papers:
            return Method(SquaredExponential(), self.inference(), self.acquisition())
        return Method(inference=self.inference(), acquisition=self.acquisition())


def _pes_2014() -> PES:
    return PES(boundary="paper", incumbent="paper", paths="weights")


CONTENDERS = {
    "pes": Contender("PES of xstar", "#d62728", PES),
    "pes-2014": Contender("PES, 2014", "#1f77b4", _pes_2014, papers=True),
    "pes-nb": Contender("PES-NB, 2014", "#17becf", _pes_2014, papers=True, inference=PosteriorMean),
    "es": Contender("ES", "#2ca02c", ES, papers=True, inference=PosteriorMean, alone=True),
    "ei": Contender("EI", "#000000", EI, papers=True),
    "logei": Contender("LogEI", "#7f7f7f", LogEI),
    "mes": Contender("MES", "#9467bd", MES),
    "thompson": Contender("Thompson", "#ff7f0e", Thompson),
    "random": Contender("random", "#c7c7c7", lambda: None),
    "pes-se": Contender("PES of xstar, the paper's kernel", "#e377c2", PES, papers=True),
    "pes-2014-chosen": Contender("PES, 2014, kernel chosen", "#8c564b", _pes_2014),
}
FIGURED = ("pes", "pes-2014", "pes-nb", "es", "ei", "logei", "mes", "thompson")
"""Those of the figures; the last ones above tell what is due to the kernel."""
PEERS = {
    "botorch-logei": "BoTorch LogEI",
    "botorch-pes": "BoTorch PES",
    "botorch-jes": "BoTorch JES",
    "optuna-gp": "Optuna GPSampler",
    "optuna-tpe": "Optuna TPE",
}
"""Libraries to compare with; `experiments.peers` drives them."""
TITLES = {name: contender.title for name, contender in CONTENDERS.items()} | PEERS
