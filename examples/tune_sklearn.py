"""Tune a scikit-learn model over real, whole and categorical parameters.

    python -m examples.tune_sklearn

The score of a cross-validation is noisy: its mean is told together with its standard error.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import xstar

SPACE = xstar.Space(
    alpha=xstar.Real(1e-6, 10.0, log=True),
    learning_rate_init=xstar.Real(1e-4, 0.3, log=True),
    hidden=xstar.Integer(2, 64, log=True),
    activation=xstar.Categorical(["relu", "tanh", "logistic"]),
)
X, y = load_wine(return_X_y=True)


def score(params: dict[str, Any]) -> tuple[float, float]:
    """Mean accuracy over five folds, and its standard error."""
    model = MLPClassifier(
        hidden_layer_sizes=(params["hidden"],), activation=params["activation"], alpha=params["alpha"],
        learning_rate_init=params["learning_rate_init"], max_iter=40, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        folds = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=5)
    return float(np.mean(folds)), float(max(np.std(folds) / np.sqrt(len(folds)), 0.005))


if __name__ == "__main__":
    result = xstar.maximize(score, SPACE, budget=15, seed=0)
    print(result)
