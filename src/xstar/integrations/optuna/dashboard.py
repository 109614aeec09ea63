"""optuna-dashboard on a study, with the figures that xstar can draw of it.

    serve(study, load_optimizer)

The figures are saved in the study, so that they are also there when somebody else serves its storage. Needs
optuna-dashboard and plotly (`pip install 'xstar[dashboard]'`), which are imported when they are used.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from socketserver import ThreadingMixIn
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from xstar.errors import SettingsError
from xstar.integrations.optuna import adapter
from xstar.numerics.checks import positive
from xstar.optimizer import Optimizer
from xstar.views.drawing.interactive import MISSING, draw_interactive
from xstar.views.figures import (
    draw_calibration,
    draw_convergence,
    draw_front,
    draw_importance,
    draw_marginals,
    draw_model,
)
from xstar.views.figures.outputs import is_known
from xstar.views.figures.picture import Picture

if TYPE_CHECKING:
    from optuna import Study
    from plotly.graph_objects import Figure

FIGURES = ("xstar-information", "xstar-optimum", "xstar-importance", "xstar-calibration", "xstar-regret")
"""The names of the figures in a study: where to look next, where the optimum may be, what matters, how well the model
predicts, what is left to gain."""
FRONT = "xstar-front"
"""That of the front, where there are several outputs."""
HEIGHT = 450
"""Pixels: that of a card of the dashboard."""


def draw(optimizer: Optimizer) -> dict[str, Figure]:
    """Draw the figures, by name; none before the first result, and only the last if no parameter varies.

    Of several outputs, the front comes first, and nothing is drawn before each of them has a value.
    """
    return {name: draw_interactive(picture, HEIGHT) for name, picture in _pictures(optimizer)}


def save_figures(study: Study, optimizer: Optimizer) -> list[str]:
    """Draw the figures, save each in the study instead of an earlier one, and return their names."""
    dashboard = _dashboard()
    return [
        dashboard.save_plotly_graph_object(study, draw_interactive(picture, HEIGHT), graph_object_id=name)
        for name, picture in _pictures(optimizer)
    ]


def _pictures(optimizer: Optimizer) -> Iterator[tuple[str, Picture]]:
    """One by one, because the last one takes the longest."""
    if not is_known(optimizer):
        return
    information, optimum, importance, calibration, regret = FIGURES
    if optimizer.goals is not None and len(optimizer.goals.names) > 1:
        yield FRONT, draw_front(optimizer)
    if optimizer.space.free:
        where = optimizer.where()
        yield information, draw_model(optimizer, where=where)
        yield optimum, draw_marginals(optimizer, where)
        yield importance, draw_importance(optimizer)
        yield calibration, draw_calibration(optimizer)
    yield regret, draw_convergence(optimizer)


def serve(
    study: Study,
    load: Callable[[Study], Optimizer],
    host: str = "127.0.0.1",
    port: int = 8080,
    refresh: float = 30.0,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the dashboard of the study's storage until interrupted; `KeyboardInterrupt` is left to the caller.

    `load` makes an optimizer of the study as it is. A thread draws the figures at once, and again when the number of
    finished trials has changed, for which it looks every `refresh` seconds. `announce` is told the address as soon as
    it can be opened, and what goes wrong with the figures, each trouble once. Port 0 takes any that is free.
    """
    positive(refresh, "refresh")
    server = _listen(study, host, port)
    stop = Event()
    artist = Thread(target=_keep_drawn, args=(study, load, refresh, announce, stop), daemon=True, name="xstar-figures")
    with server:
        announce(
            f"the dashboard is at http://{host}:{server.server_port}/dashboard/studies/{adapter.id_of_study(study)}"
        )
        artist.start()
        try:
            server.serve_forever()
        finally:
            stop.set()
            artist.join(2.0)  # for figures that are just being saved, not for those being drawn


def _keep_drawn(
    study: Study, load: Callable[[Study], Optimizer], refresh: float, announce: Callable[[str], None], stop: Event
) -> None:
    drawn, announced = 0, set()
    while not stop.is_set():
        start = time.monotonic()
        try:
            finished = sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False))
            if finished != drawn:
                save_figures(study, load(study))
                drawn = finished
        except Exception as error:  # whatever it is, the dashboard itself goes on
            trouble = f"the figures could not be drawn: {str(error) or type(error).__name__}"
            if trouble not in announced:
                announced.add(trouble)
                announce(trouble)
        stop.wait(max(refresh, time.monotonic() - start))  # drawing takes half of the time at most


class _Server(ThreadingMixIn, WSGIServer):
    """A thread for each request, so that a slow one holds up no other."""

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # on Windows, a port in use could be taken twice


class _Handler(WSGIRequestHandler):
    """Errors are logged, requests are not."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def _listen(study: Study, host: str, port: int) -> WSGIServer:
    """A server with the dashboard of the study's storage whose socket is open."""
    app = _dashboard().wsgi(adapter.storage_of(study))
    try:
        return make_server(host, port, app, server_class=_Server, handler_class=_Handler)
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            message = f"port {port} of {host} is in use already; choose another one, or 0 for any that is free."
        else:
            message = f"the dashboard cannot listen at port {port} of {host}: {error}."
        raise SettingsError(message) from error


def _dashboard() -> Any:
    """The package optuna-dashboard."""
    try:
        import optuna_dashboard
        import plotly  # noqa: F401
    except ImportError as error:
        raise SettingsError(MISSING) from error
    return optuna_dashboard
