"""Pictures of a study: what the model believes, where an evaluation would tell most, how it went.

Needs matplotlib (`pip install 'xstar[plots]'`), which is imported when a picture is drawn. Figures are made without
pyplot, so that nothing of the user's own plotting is touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.errors import SettingsError
from xstar.numerics.arrays import HostArray
from xstar.optimizer import Optimizer
from xstar.space import Integer, Real

SIDE = 60
"""Points of a grid along each parameter."""
DATA: dict[str, Any] = {"color": "black", "mfc": "white", "ms": 6, "ls": "none", "marker": "o"}


def draw(optimizer: Optimizer, path: str | Path, names: tuple[str, ...] | None = None) -> Path:
    """Save a picture of a study: posterior mean, expected information, values so far.

    Parameters
    ----------
    optimizer : Optimizer
        What has been told.
    path : str or Path
        Of the picture; its ending says what kind it is: .png, .svg, .pdf. Missing folders are made.
    names : tuple of str, optional
        One or two numeric parameters to show; by default those to which the function is most sensitive. The other
        parameters are held at the recommendation.

    Returns
    -------
    Path
        That of the picture.

    Raises
    ------
    SettingsError
        If the names are not those of numeric parameters, or matplotlib is not installed.
    TrialError
        If nothing has been told yet.

    Examples
    --------
    >>> import pathlib, tempfile, xstar
    >>> result = xstar.maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=5, method="logei")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     xstar.plots.draw(result.optimizer, pathlib.Path(folder) / "study.png").name
    'study.png'
    """
    figure = summary(optimizer, names)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)
    return target


def summary(optimizer: Optimizer, names: tuple[str, ...] | None = None) -> Any:
    """Draw the same picture as `draw`, as a figure of matplotlib.

    Parameters
    ----------
    optimizer : Optimizer
        What has been told.
    names : tuple of str, optional
        One or two numeric parameters to show, as for `draw`.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot, so that nothing of your own plotting is touched.

    Raises
    ------
    SettingsError
        If the names are not those of numeric parameters, or matplotlib is not installed.
    TrialError
        If nothing has been told yet.

    Examples
    --------
    >>> import xstar
    >>> result = xstar.maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=5, method="logei")
    >>> len(xstar.plots.summary(result.optimizer).axes)
    3
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SettingsError("pictures need matplotlib: pip install 'xstar[plots]'.") from error
    shown = most_sensitive(optimizer) if names is None else _check_names(optimizer, names)
    figure = Figure(figsize=(15, 4.6) if shown else (7, 4.6), layout="constrained")
    axes = figure.subplots(1, 3 if shown else 1, squeeze=False)[0]
    if shown:
        where = optimizer.where()
        panel = _draw_curve if len(shown) == 1 else _draw_surface
        panel(axes[0], axes[1], optimizer, shown, where)
    _draw_progress(axes[-1], optimizer)
    return figure


def _check_names(optimizer: Optimizer, names: tuple[str, ...]) -> tuple[str, ...]:
    numeric = _numeric(optimizer)
    if not 1 <= len(set(names)) == len(names) <= 2 or any(name not in numeric for name in names):
        raise SettingsError(f"names must be one or two of the numeric parameters {numeric}; received {names!r}.")
    return tuple(names)


def _numeric(optimizer: Optimizer) -> list[str]:
    return [name for name in optimizer.space.free if isinstance(optimizer.space.parameters[name], Real | Integer)]


def most_sensitive(optimizer: Optimizer) -> tuple[str, ...]:
    """Return the one or two numeric parameters along which the predicted mean varies most."""
    numeric = _numeric(optimizer)
    best = dict(optimizer.recommend().params)
    variation = []
    for name in numeric:
        mean, _ = optimizer.predict([{**best, name: value} for value in grid(optimizer, name, 21)])
        variation.append(float(np.ptp(mean)))
    ranked = [numeric[k] for k in np.argsort(np.negative(variation), kind="stable")[:2]]
    return tuple(sorted(ranked, key=list(optimizer.space.parameters).index))


def grid(optimizer: Optimizer, name: str, count: int = SIDE) -> list[Any]:
    """Return legal values of a parameter, evenly spread in the cube."""
    parameter = optimizer.space.parameters[name]
    values = [parameter.decode(np.array([u])) for u in np.linspace(0.0, 1.0, count)]
    return list(dict.fromkeys(values))


def _draw_curve(top: Any, bottom: Any, optimizer: Optimizer, names: tuple[str, ...], where: OptimumPosterior) -> None:
    (name,) = names
    values = grid(optimizer, name, 4 * SIDE)
    best = where.recommendation
    points = [{**best.params, name: value} for value in values]
    mean, sd = optimizer.predict(points)
    top.fill_between(values, mean - 2 * sd, mean + 2 * sd, color="0.88", label="± 2 sd")
    top.plot(values, mean, color="tab:blue", label="posterior mean")
    done = [trial for trial in optimizer.trials if trial.state == "done"]
    top.plot([trial.params[name] for trial in done], [trial.value for trial in done], **DATA, label="data")
    top.plot([best.params[name]], [best.mean], "*", color="tab:green", ms=14, label="recommended")
    failed = [trial.params[name] for trial in optimizer.trials if trial.state == "failed"]
    if failed:
        top.plot(failed, np.full(len(failed), np.min(mean)), "x", color="tab:red", label="failed")
    top.set(title="What the model believes", ylabel="value")
    bottom.plot(values, optimizer.information(points), color="tab:purple")
    bottom.set(title="Information of an evaluation about the optimum", ylabel="bits", ylim=(0, None))
    bottom.plot(where.params[name], np.zeros(len(where)), "|", color="tab:red", ms=14, alpha=0.4, clip_on=False)
    for axis in (top, bottom):
        _scale(axis, optimizer, names)
    top.legend(fontsize=8)


def _draw_surface(left: Any, right: Any, optimizer: Optimizer, names: tuple[str, ...], where: OptimumPosterior) -> None:
    first, second = names
    across, up = grid(optimizer, first), grid(optimizer, second)
    best = where.recommendation
    points = [{**best.params, first: a, second: b} for b in up for a in across]
    shape = (len(up), len(across))
    mean, _ = optimizer.predict(points)
    bits: HostArray = optimizer.information(points)
    for axis, surface, title, colors in (
        (left, mean, "Posterior mean", "viridis"),
        (right, bits, "Information of an evaluation about the optimum, bits", "magma"),
    ):
        if min(shape) > 1:
            drawn = axis.contourf(across, up, surface.reshape(shape), levels=24, cmap=colors)
            axis.figure.colorbar(drawn, ax=axis)
        axis.set(title=title)
        _scale(axis, optimizer, names)
    done = [trial.params for trial in optimizer.trials if trial.state == "done"]
    failed = [trial.params for trial in optimizer.trials if trial.state == "failed"]
    for axis in (left, right):
        axis.plot([p[first] for p in done], [p[second] for p in done], **DATA, label="data", clip_on=False)
        if failed:
            axis.plot(
                [p[first] for p in failed], [p[second] for p in failed], "x", color="white", mew=2, label="failed"
            )
    samples = {"marker": ".", "ls": "none", "color": "tab:red", "alpha": 0.6, "ms": 6, "clip_on": False}
    left.plot(where.params[first], where.params[second], **samples, label="optimum, sampled")
    left.plot([best.params[first]], [best.params[second]], "*", color="lime", mec="black", ms=15, label="recommended")
    left.legend(fontsize=8, loc="best", framealpha=0.8)


def _scale(axis: Any, optimizer: Optimizer, names: tuple[str, ...]) -> None:
    """Labels, limits and logarithms as the parameters have them."""
    for name, which in zip(names, "xy", strict=False):
        parameter = optimizer.space.parameters[name]
        if isinstance(parameter, Real | Integer):
            getattr(axis, f"set_{which}label")(name)
            if parameter.log:
                getattr(axis, f"set_{which}scale")("log")
            getattr(axis, f"set_{which}lim")(parameter.low, parameter.high)


def _draw_progress(axis: Any, optimizer: Optimizer) -> None:
    told = [(trial.number, trial.value) for trial in optimizer.trials if trial.value is not None]
    if told:
        numbers, values = np.array(told, dtype=np.float64).T
        axis.plot(numbers, values, **DATA, label="told")
        axis.step(
            numbers, optimizer.direction.running_best(values), where="post", color="tab:blue", label="best so far"
        )
        axis.legend(fontsize=8)
    for trial in optimizer.trials:
        if trial.state == "failed":
            axis.axvline(trial.number, color="tab:red", alpha=0.3)
    axis.set(title="Values so far", xlabel="trial", ylabel="value")
