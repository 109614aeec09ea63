"""A ground truth from samples: the mean of a GP that is fitted to them, on the unit cube.

The paper's real-world functions can only be sampled with noise. What is optimized in their place is f, the mean of a
GP that was fitted to many samples, and an evaluation of it has normal noise with the fitted standard deviation
[HHG14, section 3.1]. Values are standardized for the fit; f and its noise are in the samples' own units.

Notation
    X        points of the cube                      (n, d)
    y        values there, in their own units        (n,)
    z        (y - shift) / scale                     (n,)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import qmc

from xstar.gp import MAP, Gamma, Hyperparameters, Kernel, Matern52, Posterior, Prior, SquaredExponential

Rows = NDArray[np.float64]
"""Points of the unit cube (m, d), or values (m,)."""
DATA = Path(__file__).resolve().parent.parent / "data"
"""Where samples and fits are kept."""
KERNELS: dict[str, Kernel] = {"SquaredExponential": SquaredExponential(), "Matern52": Matern52()}
PRIOR = Prior(lengthscale=Gamma(2.0, 2.0), noise=Gamma(1.0, 1.0))
"""Like the library's own, but with room for samples that are mostly noise."""
SCREENED, CLIMBED = 4096, 48
"""Points among which a search for the maximum begins, and how many of them are climbed from."""


@dataclass(frozen=True, eq=False)
class Truth:
    """A function that is known through values at points, as a GP makes of them."""

    kernel: str
    """A name in `KERNELS`."""
    hyper: Hyperparameters
    """Of the standardized values z. Its noise says how closely f follows them."""
    X: Rows
    y: Rows
    shift: float
    scale: float
    noise: float
    """Standard deviation of an evaluation, in the units of y."""
    log_evidence: dict[str, float]
    """log p(z | X) of each kernel that was tried."""

    @cached_property
    def posterior(self) -> Posterior:
        """The GP given the values, in standardized units."""
        return Posterior(KERNELS[self.kernel], self.hyper, self.X, (self.y - self.shift) / self.scale)

    def values(self, x: Rows) -> Rows:
        """f at points (m, d), shape (m,)."""
        return self.shift + self.scale * np.asarray(self.posterior.predict_mean(np.asarray(x, dtype=np.float64)))

    def maximizer(self) -> Rows:
        """Where f is largest (d,), the best of many climbs from a Sobol design; the same each time."""
        design = qmc.Sobol(self.X.shape[1], rng=np.random.default_rng(0)).random(SCREENED)
        best = np.argsort(-self.values(design), kind="stable")
        # The best ones crowd on one hill, so some are taken from the whole ranking.
        starts = design[np.concatenate([best[: CLIMBED // 2], best[:: 2 * SCREENED // CLIMBED]])]

        def descent(x: Rows) -> tuple[float, Rows]:
            mean, _, gradient, _ = self.posterior.predict_gradient(x[None])
            return -float(mean[0]), -gradient[0]

        exactly: Any = {"ftol": 1e-16, "gtol": 1e-11, "maxiter": 200}
        bounds = [(0.0, 1.0)] * design.shape[1]
        ends = [minimize(descent, x, jac=True, method="L-BFGS-B", bounds=bounds, options=exactly) for x in starts]
        return np.asarray(min(ends, key=lambda end: float(end.fun)).x)


def fit(X: Rows, y: Rows, seed: int) -> Truth:
    """The GP with the most probable hyperparameters, under the kernel with the larger evidence."""
    shift, scale = float(np.mean(y)), float(np.std(y))
    if scale == 0.0:
        raise ValueError(f"the {len(y)} values are all {shift!r}; a ground truth needs values that differ.")
    z = (y - shift) / scale
    hypers: dict[str, Hyperparameters] = {}
    evidence: dict[str, float] = {}
    for name, kernel in KERNELS.items():
        found = MAP(PRIOR).infer(kernel, X, z, np.random.default_rng(seed)).hyper
        hypers[name] = Hyperparameters(found.lengthscales[0], found.amplitude[0], found.noise[0])
        evidence[name] = float(Posterior(kernel, hypers[name], X, z).log_marginal_likelihood())
    best = max(evidence, key=lambda name: evidence[name])
    return Truth(best, hypers[best], X, y, shift, scale, scale * float(hypers[best].noise), evidence)


def save(truth: Truth, path: Path, about: dict[str, Any]) -> Rows:
    """Write values, hyperparameters, the maximizer, and where all came from; returns the maximizer."""
    maximizer = truth.maximizer()
    settings = {
        "kernel": truth.kernel,
        "lengthscales": truth.hyper.lengthscales.tolist(),
        "amplitude": float(truth.hyper.amplitude),
        "followed": float(truth.hyper.noise),
        "shift": truth.shift,
        "scale": truth.scale,
        "noise": truth.noise,
        "log_evidence": truth.log_evidence,
        "maximizer": maximizer.tolist(),
        "about": about,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, X=truth.X, y=truth.y, settings=np.array(json.dumps(settings)))
    return maximizer


def load(path: Path) -> tuple[Truth, Rows, dict[str, Any]]:
    """What `save` has written: the truth, its maximizer, and where all came from."""
    with np.load(path) as stored:
        X, y, settings = stored["X"], stored["y"], json.loads(str(stored["settings"]))
    hyper = Hyperparameters(settings["lengthscales"], settings["amplitude"], settings["followed"])
    truth = Truth(
        settings["kernel"], hyper, X, y, settings["shift"], settings["scale"], settings["noise"],
        settings["log_evidence"],
    )  # fmt: skip
    return truth, np.array(settings["maximizer"]), settings["about"]
