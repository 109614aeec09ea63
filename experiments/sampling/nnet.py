"""Samples of NNet: how well a neural network predicts, against its weight decay and its number of training iterations.

    python -m experiments.sampling.nnet

The paper has a neural network on a random train/test partition of the Boston Housing data [HHG14, section 3.1]; each
sample here has a partition and starting weights of its own. The paper does not say more, so the following are choices:

* one hidden layer of 10 tanh units, trained by L-BFGS; 90 % of the rows train, the others test;
* x1 is the weight decay (L2), logarithmic from 1e-5 to 1e2; x2 the number of iterations, logarithmic from 5 to 500;
* predictive accuracy is minus the root mean squared error, in thousands of dollars;
* inputs and targets are standardized by the training rows;
* column B is left out. It is a transform of the share of Black residents, made on the assumption that segregation
  pays, and neither the transform can be undone nor the assumption defended. Twelve inputs remain.

The data come from the package mlxtend and are not kept here: experiments/data/nnet.npz holds our samples and our fit.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from experiments.sampling.truth import DATA, Rows, fit, save

SAMPLES, SEED = 1000, 2014_01
UNITS = 10
TESTED = 0.1
"""Share of the rows that are held out."""
DECAY = (1e-5, 1e2)
ITERATIONS = (5, 500)
COLUMN_B = 11


class Housing(NamedTuple):
    """The data: inputs (506, 12) and median values (506,)."""

    X: Rows
    y: Rows


def housing() -> Housing:
    """Boston Housing without column B."""
    from mlxtend.data import boston_housing_data

    X, y = boston_housing_data()
    return Housing(np.delete(np.asarray(X, dtype=np.float64), COLUMN_B, axis=1), np.asarray(y, dtype=np.float64))


def design() -> Rows:
    """The sampled points (SAMPLES, 2), uniform on the unit square."""
    return np.random.default_rng(SEED).random((SAMPLES, 2))


def settings_at(x: Rows) -> tuple[float, int]:
    """Weight decay and number of iterations at a point (2,)."""
    low, high = np.log([DECAY[0], ITERATIONS[0]]), np.log([DECAY[1], ITERATIONS[1]])
    decay, iterations = np.exp(low + np.asarray(x) * (high - low))
    return float(decay), round(float(iterations))


def sample(index: int, data: Housing) -> float:
    """Minus the test error of the sample with this index: its point, partition and starting weights are its own."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    rng = np.random.default_rng([SEED, index])
    order = rng.permutation(len(data.y))
    held_out = round(TESTED * len(data.y))
    test, train = order[:held_out], order[held_out:]
    decay, iterations = settings_at(design()[index])
    model = MLPRegressor(
        hidden_layer_sizes=(UNITS,), activation="tanh", solver="lbfgs", alpha=decay, max_iter=iterations,
        # The number of iterations is what is studied, so that nothing else should end the training.
        tol=1e-10, random_state=int(rng.integers(2**31)),
    )  # fmt: skip
    inputs, targets = _standardizer(data.X[train]), _standardizer(data.y[train])
    with warnings.catch_warnings():
        # To stop before it has converged is the point.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((data.X[train] - inputs[0]) / inputs[1], (data.y[train] - targets[0]) / targets[1])
    predicted = targets[0] + targets[1] * model.predict((data.X[test] - inputs[0]) / inputs[1])
    return -float(np.sqrt(np.mean((predicted - data.y[test]) ** 2)))


def _standardizer(values: Rows) -> tuple[Any, Any]:
    return values.mean(axis=0), values.std(axis=0)


def main() -> None:
    """Draw the samples on two processes, fit the GP, and write both."""
    import mlxtend
    import sklearn
    from joblib import Parallel, delayed

    data = housing()
    y = np.array(Parallel(n_jobs=2)(delayed(sample)(index, data) for index in range(SAMPLES)))
    truth = fit(design(), y, SEED)
    about = {
        "versions": {"mlxtend": mlxtend.__version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "seed": SEED,
        "ranges": {"decay": DECAY, "iterations": ITERATIONS},
        "units": UNITS,
        "tested": TESTED,
        "left out": "B",
        "value": "minus root mean squared error, thousands of dollars",
    }
    save(truth, DATA / "nnet.npz", about)


if __name__ == "__main__":
    main()
