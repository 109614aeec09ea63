"""A notebook: tune a support vector machine on handwritten digits, see what mattered, and how far to believe it."""

# %% [markdown]
# # Tune a model
#
# A support vector machine reads handwritten digits. Three settings decide how well: `C` and `gamma`, of which nobody
# knows the order of magnitude, and the kernel. Every evaluation trains and tests it on five folds, and the score is
# noisy, because it depends on how the data were split.

# %%
# %matplotlib inline
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.svm import SVC

import xstar

images, digits = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(
    images / 16.0, digits, train_size=600, stratify=digits, random_state=0
)  # fmt: skip

# %% [markdown]
# ## What may be varied
#
# `log=True` says that 0.1 and 1 are as far apart as 100 and 1000. The kernels have no order: they are a category.

# %%
space = xstar.Space(
    C=xstar.Real(0.1, 1e3, log=True),
    gamma=xstar.Real(1e-3, 1.0, log=True),
    kernel=xstar.Categorical(["rbf", "poly", "sigmoid"]),
)

# %% [markdown]
# ## What is measured
#
# The mean score of five folds, and how uncertain that is: the scatter of the folds says it. Every evaluation splits the
# data anew, so that a lucky split helps nobody twice.

# %%
rng = np.random.default_rng(0)


def accuracy(params):
    folds = StratifiedKFold(5, shuffle=True, random_state=int(rng.integers(2**31)))
    scores = 100.0 * cross_val_score(SVC(**params), X, y, cv=folds)
    return xstar.Value(scores.mean(), sd=max(scores.std(ddof=1) / np.sqrt(len(scores)), 0.1))


accuracy({"C": 1.0, "gamma": 0.01, "kernel": "rbf"})

# %% [markdown]
# ## Search
#
# Thirty evaluations. The result says what to use, what to expect of it, and where else the optimum may be.

# %%
result = xstar.maximize(accuracy, space, budget=30, seed=0, progress=False)
result

# %% [markdown]
# Does it hold on the 1197 images that no evaluation has seen?

# %%
model = SVC(**result.params).fit(X, y)
print(f"new images read correctly: {100.0 * model.score(X_test, y_test):.1f} %")

# %% [markdown]
# ## How it went
#
# On the left every score, and what was recommended at the time; on the right how much was left to gain. When that is
# less than you care about, it is time to stop: `maximize(..., tolerance=0.5)` does.

# %%
xstar.plots.convergence(result)

# %% [markdown]
# ## What the model believes
#
# Predicted accuracy, and below it what another evaluation would tell about the optimum, for each kernel. The orange
# strokes are where the optimum may be.

# %%
xstar.plots.view(result)

# %% [markdown]
# ## What mattered
#
# How much of the variation of the score is due to each setting, alone or together with others, and how much each still
# decides about what an evaluation tells.

# %%
result.optimizer.importance()

# %%
xstar.plots.importance(result)

# %% [markdown]
# ## How far to believe it
#
# Every score is predicted from all the others. If about 95 of 100 lie in their intervals, the model knows what it does
# not know.

# %%
xstar.plots.calibration(result)

# %% [markdown]
# ## Why the next one
#
# What would be evaluated next, and what for?

# %%
trial = result.optimizer.ask()
result.optimizer.explain(trial)

# %%
result.optimizer.withdraw(trial)
result.to_dataframe().tail(6)

# %% [markdown]
# ## The short cut
#
# For a model of scikit-learn the same is one line: `XstarSearchCV` stands where `RandomizedSearchCV` stood.

# %%
from xstar.integrations.sklearn import XstarSearchCV

search = XstarSearchCV(SVC(), space, n_iter=15, cv=5, random_state=0).fit(X, y)
print(f"in cross-validation {100.0 * search.best_score_:.1f} %")
print(f"on new images {100.0 * search.score(X_test, y_test):.1f} %")
search.result_.recommendation
