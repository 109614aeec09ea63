"""The parameters of the Portfolio model, fitted to the daily closes of AXP, BA and HD in DowJones30.

    python -m experiments.sampling.refit

All days of DowJones30 are used, 1990-12-31 to 2001-01-02: a rule that was fixed before any surface was seen, because
the window decides where the best portfolio lies. The data belong to the R package fBasics and are not kept here. They
are taken from an R library if the package is installed (Debian: r-cran-fbasics), and otherwise out of Debian's
package, which is downloaded to a temporary folder. Needs the packages arch and rdata.

First each stock's GARCH(1, 1) is fitted by maximum likelihood. Then the copula of the residuals' probabilities: its
correlation from Kendall's tau, R_ij = sin(pi tau_ij / 2), which does not depend on the marginals, and its degrees of
freedom by maximum likelihood given R.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special, stats
from scipy.optimize import minimize_scalar

from experiments.sampling.portfolio import PARAMETERS
from experiments.sampling.truth import Rows

STOCKS = ("AXP", "BA", "HD")
LIBRARY = Path("usr/lib/R/site-library/fBasics/data")
LEAST_DF, MOST_DF = 2.1, 100.0


def closes() -> tuple[list[str], Rows]:
    """Dates, and the daily closes (days, 3)."""
    if (installed := Path("/") / LIBRARY).is_dir():
        return read_database(installed)
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(["apt-get", "download", "r-cran-fbasics"], cwd=folder, check=True, capture_output=True)
            (package,) = Path(folder).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True, capture_output=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise RuntimeError(
                "the DowJones30 data were not found: install Debian's r-cran-fbasics, or run this where `apt-get "
                "download` works (`apt-get update` may be needed first)."
            ) from error
        return read_database(Path(folder) / LIBRARY)


def read_database(folder: Path) -> tuple[list[str], Rows]:
    """DowJones30 out of R's lazy-load database: an index, and zlib blocks behind 4 bytes that tell their length."""
    import rdata

    with warnings.catch_warnings():
        # It says that it takes files whose names it does not know for the kind that they are.
        warnings.simplefilter("ignore", UserWarning)
        index = rdata.conversion.convert(rdata.parser.parse_file(folder / "Rdata.rdx"))
        start, length = (int(number) for number in index["variables"]["DowJones30"])
        block = (folder / "Rdata.rdb").read_bytes()[start : start + length]
        table: Any = rdata.conversion.convert(rdata.parser.parse_data(zlib.decompress(block[4:])))
    dates = [str(date) for date in table.iloc[:, 0]]
    return dates, np.stack([np.asarray(table[name], dtype=np.float64) for name in STOCKS], axis=-1)


def fit_garch(returns: Rows) -> tuple[dict[str, float], Rows]:
    """Parameters of one stock's model, and its standardized residuals, for daily log returns in percent (days,)."""
    from arch import arch_model

    found = arch_model(returns, mean="Constant", vol="GARCH", p=1, q=1, dist="t", rescale=False).fit(disp="off")
    if found.convergence_flag:
        raise RuntimeError(f"the GARCH fit did not converge (flag {found.convergence_flag}).")
    names = {"mean": "mu", "omega": "omega", "alpha": "alpha[1]", "beta": "beta[1]", "df": "nu"}
    parameters = {name: float(found.params[theirs]) for name, theirs in names.items()}
    shock = returns[-1] - parameters["mean"]
    last = float(np.asarray(found.conditional_volatility)[-1]) ** 2
    parameters["next_variance"] = parameters["omega"] + parameters["alpha"] * shock**2 + parameters["beta"] * last
    return parameters, np.asarray(found.std_resid)


def fit_copula(probabilities: Rows) -> tuple[Rows, float]:
    """Correlation (k, k) and degrees of freedom of a Student t copula, for probabilities (days, k)."""
    k = probabilities.shape[1]
    correlation = np.eye(k)
    for i in range(k):
        for j in range(i):
            tau = float(stats.kendalltau(probabilities[:, i], probabilities[:, j]).statistic)
            correlation[i, j] = correlation[j, i] = np.sin(0.5 * np.pi * tau)

    def cost(log_df: float) -> float:
        df: Any = math.exp(log_df)  # declared to be whole, which it need not be
        t = special.stdtrit(df, probabilities)
        joint = stats.multivariate_t.logpdf(t, shape=correlation, df=df)
        return -float(np.sum(joint) - np.sum(stats.t.logpdf(t, df)))

    ends = math.log(LEAST_DF), math.log(MOST_DF)
    found = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-6})
    return correlation, math.exp(float(found.x))


def main() -> None:
    """Fit and write the parameters."""
    import arch

    dates, prices = closes()
    returns = 100.0 * np.diff(np.log(prices), axis=0)
    fits = [fit_garch(column) for column in returns.T]
    probabilities = [
        special.stdtr(own["df"], residuals * np.sqrt(own["df"] / (own["df"] - 2.0))) for own, residuals in fits
    ]
    correlation, copula_df = fit_copula(np.stack(probabilities, axis=-1))
    parameters: dict[str, Any] = {
        "stocks": STOCKS,
        "source": f"daily closes in DowJones30 of the R package fBasics, {dates[0]} to {dates[-1]}",
        "returns": len(returns),
        "unit": "log returns in percent",
        "arch": arch.__version__,
    }
    parameters |= {name: [own[name] for own, _ in fits] for name in fits[0][0]}
    parameters |= {"correlation": correlation.tolist(), "copula_df": copula_df}
    PARAMETERS.write_text(json.dumps(parameters, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
