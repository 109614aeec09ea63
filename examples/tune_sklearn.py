"""Tune a scikit-learn pipeline: numbers over several decades, and one of three steps.

    python -m examples.tune_sklearn

Needs scikit-learn (`pip install 'xstar[sklearn]'`). `XstarSearchCV` stands where `RandomizedSearchCV` stood, and knows
more when it is done: which parameters the optimum may have, and what is left to gain.
"""

from __future__ import annotations

import xstar


def main() -> None:
    """Tune, and say what was found."""
    # Nothing else is imported before this line: without scikit-learn it says what to install.
    from xstar.integrations.sklearn import XstarSearchCV  # isort: skip

    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler
    from sklearn.svm import SVC

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, stratify=y, random_state=0)
    model = Pipeline([("scale", StandardScaler()), ("svc", SVC())])
    space = {
        "scale": xstar.Categorical([StandardScaler(), MinMaxScaler(), "passthrough"]),
        "svc__C": xstar.Real(1e-2, 1e3, log=True),
        "svc__gamma": xstar.Real(1e-5, 1.0, log=True),
    }
    search = XstarSearchCV(model, space, n_iter=20, cv=5, random_state=0)
    search.fit(X_train, y_train)

    print(f"best of {len(search.cv_results_['params'])} candidates: {search.best_params_}")
    print(f"accuracy: {search.best_score_:.3f} in cross-validation, {search.score(X_test, y_test):.3f} on new data")
    print(search.optimizer_.where())


if __name__ == "__main__":
    try:
        main()
    except xstar.XstarError as error:
        raise SystemExit(str(error)) from error
