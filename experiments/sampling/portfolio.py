"""Samples of Portfolio: the Sharpe ratio of a portfolio's simulated 1-year returns, against its weights.

    python -m experiments.sampling.portfolio

The paper simulates from univariate GARCH models of the daily returns of AXP, BA and HD that are joined by a Student t
copula [HHG14, section 3.1]. The model here, of a stock's daily log return r in percent:

    r_t = mean + sqrt(h_t) e_t,    h_{t+1} = omega + alpha (r_t - mean)^2 + beta h_t,

with e_t a Student t of unit variance. A year's return is the log return of buying and holding, log(sum_i w_i exp(s_i))
with s_i the sum of the stock's daily ones, and the Sharpe ratio its mean over its standard deviation, among the
simulated paths. Each sample simulates paths of its own, from the day after the last one of the data. Choices, since the
paper does not say more:

* returns are log returns, of the year as of the day: the exponential of a Student t has neither mean nor variance, so
  that simple returns would have no Sharpe ratio to be estimated;
* weights are (x1, (1 - x1) x2, (1 - x1)(1 - x2)), so that the unit square is all portfolios without short sales;
* a year is 252 days, and there are 1000 paths;
* the model's parameters are those that `refit` finds for all of the DowJones30 data, 1990-12-31 to 2001-01-02.

They are in experiments/data/garch.json; experiments/data/portfolio.npz holds samples and fit.

Notation
    k    stocks, 3          m    paths          e    innovations of unit variance (m, k)
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import special

from experiments.sampling.truth import DATA, Rows, fit, save

SAMPLES, SEED = 1000, 2014_03
DAYS, PATHS = 252, 1000
PARAMETERS = DATA / "garch.json"
KNOTS, FARTHEST = 8193, 1e3
"""Of the tables by which the copula's t variables become innovations."""


@dataclass(frozen=True, eq=False)
class Garch:
    """GARCH(1, 1) models of k stocks, with Student t innovations that a Student t copula joins.

    Returns are in percent, variances in percent squared.
    """

    mean: Rows
    omega: Rows
    alpha: Rows
    beta: Rows
    df: Rows
    """Degrees of freedom of each stock's innovations."""
    next_variance: Rows
    """h of the first simulated day."""
    correlation: Rows
    """Of the copula, (k, k)."""
    copula_df: float

    @classmethod
    def load(cls, path: Path = PARAMETERS) -> Garch:
        """The fitted parameters."""
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            mean=np.array(stored["mean"]),
            omega=np.array(stored["omega"]),
            alpha=np.array(stored["alpha"]),
            beta=np.array(stored["beta"]),
            df=np.array(stored["df"]),
            next_variance=np.array(stored["next_variance"]),
            correlation=np.array(stored["correlation"]),
            copula_df=float(stored["copula_df"]),
        )

    @property
    def long_run_variance(self) -> Rows:
        """omega / (1 - alpha - beta), (k,)."""
        return self.omega / (1.0 - self.alpha - self.beta)


class Innovations:
    """Draws of e: Student t marginals of unit variance, joined by the copula.

    With t a multivariate Student t of the copula's degrees of freedom, e_i = sqrt((df_i - 2) / df_i) F_i^{-1}(F(t_i)).
    Quantile functions are slow, so this smooth odd function of t_i is interpolated between knots that are dense where
    t_i mostly is.
    """

    def __init__(self, garch: Garch) -> None:
        self.copula_df = garch.copula_df
        self.root = np.linalg.cholesky(garch.correlation)
        side = np.sinh(np.linspace(0.0, np.arcsinh(FARTHEST), KNOTS // 2 + 1))
        self.knots = np.concatenate([-side[:0:-1], side])
        self.tables = []
        for df in garch.df:
            below = exact_innovation(-side, garch.copula_df, float(df))
            self.tables.append(np.concatenate([below[:0:-1], -below]))

    def draw(self, count: int, rng: np.random.Generator) -> Rows:
        """Shape (count, k), rows independent."""
        normal = rng.standard_normal((count, len(self.root))) @ self.root.T
        return self.transform(normal / np.sqrt(rng.chisquare(self.copula_df, count) / self.copula_df)[:, None])

    def transform(self, t: Rows) -> Rows:
        """From the copula's t variables (m, k) to innovations."""
        return np.stack([np.interp(t[:, i], self.knots, table) for i, table in enumerate(self.tables)], axis=-1)


def exact_innovation(t: Rows, copula_df: float, df: float) -> Rows:
    """The transform for t <= 0, where probabilities keep all their digits."""
    scale = float(np.sqrt((df - 2.0) / df))
    return scale * np.asarray(special.stdtrit(df, special.stdtr(copula_df, t)), dtype=np.float64)


def simulate(garch: Garch, innovations: Innovations, days: int, paths: int, rng: np.random.Generator) -> Rows:
    """Daily returns in percent, shape (days, paths, k)."""
    e = innovations.draw(days * paths, rng).reshape(days, paths, -1)
    variance = np.broadcast_to(garch.next_variance, e.shape[1:])
    shocks = np.empty(e.shape)
    for day in range(days):
        shocks[day] = np.sqrt(variance) * e[day]
        variance = garch.omega + garch.alpha * shocks[day] ** 2 + garch.beta * variance
    return garch.mean + shocks


def weights(x: Rows) -> Rows:
    """The share of each stock (m, 3) at points (m, 2)."""
    first, second = x[:, 0], x[:, 1]
    return np.stack([first, (1.0 - first) * second, (1.0 - first) * (1.0 - second)], axis=-1)


def sharpe(x: Rows, years: Rows) -> Rows:
    """Mean over standard deviation of the portfolios at x (m, 2), given the stocks' yearly log returns (paths, 3)."""
    returns = np.log(np.exp(years) @ weights(x).T)
    return np.asarray(returns.mean(axis=0) / returns.std(axis=0, ddof=1))


def design() -> Rows:
    """The sampled points (SAMPLES, 2), uniform on the unit square."""
    return np.random.default_rng(SEED).random((SAMPLES, 2))


def sample(index: int, garch: Garch, innovations: Innovations) -> float:
    """The Sharpe ratio of the sample with this index, from its point and its own paths."""
    daily = simulate(garch, innovations, DAYS, PATHS, np.random.default_rng([SEED, index]))
    return float(sharpe(design()[index : index + 1], daily.sum(axis=0) / 100.0)[0])


def main() -> None:
    """Draw the samples, fit the GP, and write both."""
    garch = Garch.load()
    innovations = Innovations(garch)
    y = np.array([sample(index, garch, innovations) for index in range(SAMPLES)])
    about = {
        "versions": {"numpy": np.__version__},
        "seed": SEED,
        "days": DAYS,
        "paths": PATHS,
        "weights": "AXP x1, BA (1 - x1) x2, HD (1 - x1) (1 - x2)",
        "value": "Sharpe ratio of simulated 1-year log returns",
    }
    save(fit(design(), y, SEED), DATA / "portfolio.npz", about)


if __name__ == "__main__":
    main()
