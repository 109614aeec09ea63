"""Pictures of a study, by name: each takes an optimizer, or a result of `maximize`, and returns a figure.

By default they are figures of matplotlib (`pip install 'xstar[plots]'`), made without pyplot, so that nothing of the
user's own plotting is touched; with `interactive=True` figures of plotly (`pip install 'xstar[dashboard]'`). What they
show is in `xstar.views.figures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from xstar.errors import SettingsError
from xstar.optimizer import Optimizer
from xstar.trial import TrialLike
from xstar.views import figures
from xstar.views.drawing.interactive import draw_interactive
from xstar.views.drawing.static import draw_static
from xstar.views.figures.coordinates import recommended
from xstar.views.figures.picture import Picture


@runtime_checkable
class HasOptimizer(Protocol):
    """A result of `maximize`, or whatever else has an optimizer."""

    @property
    def optimizer(self) -> Optimizer:
        """What was told, and what is believed."""


Study: TypeAlias = Optimizer | HasOptimizer
"""What pictures are drawn of."""


def draw(study: Study, path: str | Path, names: Sequence[str] | None = None) -> Path:
    """Save a summary of a study as a picture: predicted values, expected information, values so far.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    path : str or Path
        Of the picture; its ending says what kind it is: .png, .svg, .pdf. Missing folders are made.
    names : sequence of str, optional
        One or two parameters to show, as for `view`.

    Returns
    -------
    Path
        That of the picture.

    Raises
    ------
    SettingsError
        If the names are not those of parameters that vary, or matplotlib is not installed.
    TrialError
        If nothing has been told yet.

    Examples
    --------
    >>> import pathlib, tempfile, xstar
    >>> result = xstar.maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=5, method="logei")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     xstar.plots.draw(result, pathlib.Path(folder) / "study.png").name
    'study.png'
    """
    figure = summary(study, names)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)
    return target


def summary(study: Study, names: Sequence[str] | None = None, *, interactive: bool = False) -> Any:
    """Draw a study at a glance: predicted values, expected information, values so far; of several outputs, the front.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    names : sequence of str, optional
        One or two parameters to show, as for `view`.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If the names are not those of parameters that vary, or the library that draws is not installed.
    TrialError
        If nothing has been told yet.

    Examples
    --------
    >>> import xstar
    >>> result = xstar.maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=5, method="logei")
    >>> len(xstar.plots.summary(result).axes)
    3
    """
    return _drawn(figures.draw_summary(_optimizer(study), names), interactive)


def view(
    study: Study, names: Sequence[str] | None = None, *, at: Mapping[str, Any] | None = None, interactive: bool = False
) -> Any:
    """Draw the model over one or two parameters: what it predicts, and where an evaluation would tell most.

    The other parameters are held; the title says where. Results are the fainter the less they say of that slice. Every
    one of several outputs has panels of its own; what an evaluation would tell is of all of them together.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    names : sequence of str, optional
        One or two parameters; besides them, one that is categorical, whose choices have panels. By default the two to
        which predictions are most sensitive.
    at : dict, optional
        Where other parameters are held; those that are not named here, at the recommendation.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If the names are not those of parameters that vary, or the library that draws is not installed.
    SpaceError
        If a parameter cannot be held there.
    TrialError
        If nothing has been told yet.
    """
    return _drawn(figures.draw_view(_optimizer(study), names, at), interactive)


def convergence(study: Study, *, interactive: bool = False) -> Any:
    """Draw how it went: values, the recommendation and the best confirmed point at the time, what was left to gain.

    Of several objectives, the hypervolume of the trials and of what was recommended.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If the library that draws is not installed.
    TrialError
        If nothing has been told yet.
    """
    optimizer = _optimizer(study)
    recommended(optimizer)  # complains if nothing has been told
    return _drawn(figures.draw_convergence(optimizer), interactive)


def front(study: Study, x: str | None = None, y: str | None = None, *, interactive: bool = False) -> Any:
    """Draw two of several outputs against each other: trials, the recommended compromises, where the front may be.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    x, y : str, optional
        Two of the outputs. By default the first two objectives; of one objective, the first constraint and it.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If there are no such outputs, or the library that draws is not installed.
    TrialError
        If nothing has been told yet, or nothing of an output.

    Examples
    --------
    >>> import xstar
    >>> opt = xstar.Optimizer([(0.0, 1.0)], objectives={"gain": "maximize", "cost": "minimize"})
    >>> for x in (0.0, 0.3, 0.6, 1.0):
    ...     _ = opt.tell([x], {"gain": x, "cost": x * x})
    >>> xstar.plots.front(opt).axes[0].get_ylabel()
    'cost, to minimize'
    """
    return _drawn(figures.draw_front(_optimizer(study), x, y), interactive)


def pairs(study: Study, names: Sequence[str] | None = None, *, interactive: bool = False) -> Any:
    """Draw where the optimum may be, over every pair of parameters; its places have colors and letters.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    names : sequence of str, optional
        One to four parameters; by default those to which predictions are most sensitive.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If the names are not those of parameters that vary, or the library that draws is not installed.
    TrialError
        If nothing has been told yet.
    """
    return _drawn(figures.draw_pairs(_optimizer(study), names), interactive)


def marginals(study: Study, *, interactive: bool = False) -> Any:
    """Draw where the optimum may be, parameter by parameter, at most twelve.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If the library that draws is not installed.
    TrialError
        If nothing has been told yet.
    """
    return _drawn(figures.draw_marginals(_optimizer(study)), interactive)


def importance(study: Study, *, interactive: bool = False) -> Any:
    """Draw how much each parameter matters, as `Optimizer.importance` computes it; of several outputs, for each.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If the library that draws is not installed.
    TrialError
        If nothing has been told yet.
    """
    return _drawn(figures.draw_importance(_optimizer(study)), interactive)


def calibration(study: Study, *, interactive: bool = False) -> Any:
    """Draw how well the model predicts: every value beside its prediction from all the others, output by output.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If the library that draws is not installed.
    TrialError
        If nothing has been told yet.
    """
    return _drawn(figures.draw_calibration(_optimizer(study)), interactive)


def why(study: Study, trial: TrialLike, *, interactive: bool = False) -> Any:
    """Draw why a point is worth evaluating: predictions and information along each parameter through it.

    Parameters
    ----------
    study : Optimizer or Result
        What has been told.
    trial : Trial, int, dict, or sequence of numbers
        The point, as for `Optimizer.explain`; a trial's own result is left out.
    interactive : bool
        Whether the figure is one of plotly.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure

    Raises
    ------
    SettingsError
        If the library that draws is not installed.
    TrialError
        If nothing else has been told yet.
    """
    return _drawn(figures.draw_why(_optimizer(study), trial), interactive)


def _optimizer(study: Study) -> Optimizer:
    if isinstance(study, Optimizer):
        return study
    if isinstance(study, HasOptimizer):
        return study.optimizer
    raise SettingsError(f"pictures are drawn of an Optimizer or of a result of maximize; received {study!r}.")


def _drawn(picture: Picture, interactive: bool) -> Any:
    return draw_interactive(picture) if interactive else draw_static(picture)
