"""How the study was made: settings, parameters, versions."""

from __future__ import annotations

import platform

from xstar.numerics.rounding import with_digits
from xstar.optimizer import Optimizer
from xstar.version import __version__, installed
from xstar.views.figures.outputs import studies_of
from xstar.views.ranges import range_in_words
from xstar.views.report.findings import Findings
from xstar.views.report.markup import element, row, section, table, text

PACKAGES = ("numpy", "scipy", "matplotlib")
"""What results and pictures depend on."""


def facts(findings: Findings) -> str:
    """Return the section of settings, parameters and versions."""
    optimizer = findings.optimizer
    parameters = [
        row(text(name), text(range_in_words(parameter))) for name, parameter in optimizer.space.parameters.items()
    ]
    return section(
        "Settings and versions",
        element(
            "div",
            table(["parameter", "what it may be"], parameters, "Parameters"),
            table(["setting", "value"], [row(name, said) for name, said in _settings(optimizer)], "Settings"),
            table(["package", "version"], [row(name, text(said)) for name, said in _versions()], "Versions"),
            class_="beside",
        ),
    )


def _settings(optimizer: Optimizer) -> list[tuple[str, str]]:
    settings = [
        *_goals(optimizer),
        ("method", text(optimizer.method_name)),
        ("kernel", text(_kernel(optimizer))),
        ("seed", text(optimizer.seed)),
        ("noise", text("; ".join(_noises(optimizer)))),
        ("initial points", str(optimizer.num_initial)),
    ]
    if optimizer.compute != "numpy":
        settings.append(("computed by", text(optimizer.compute)))
    return settings


def _goals(optimizer: Optimizer) -> list[tuple[str, str]]:
    """What is wanted."""
    goals = optimizer.goals
    if goals is None:
        return [("direction", text(optimizer.direction))]
    wanted = [
        f"{item.direction} {name}" + ("" if item.reference is None else f", of interest from {item.reference:g} on")
        for name, item in goals.objectives.items()
    ]
    bounds = [f"{name} {item}" for name, item in goals.constraints.items()]
    return [
        ("objectives" if goals.several else "objective", text("; ".join(wanted))),
        *([("constraints", text("; ".join(bounds)))] if bounds else []),
    ]


def _noises(optimizer: Optimizer) -> list[str]:
    """What is known of the noise; of several outputs, one by one if it is not the same for all."""
    noises = {
        name: "learned" if study.noise is None else f"standard deviation {with_digits(study.noise, 6)}, as told"
        for name, study in studies_of(optimizer)
    }
    same = len(set(noises.values())) == 1
    return list(noises.values())[:1] if same else [f"{name}: {said}" for name, said in noises.items()]


def _kernel(optimizer: Optimizer) -> str:
    """The kernel, or those among which the data choose and the last choice that is known."""
    given = optimizer.method.kernel
    names = [type(kernel).__name__ for kernel in (given if isinstance(given, tuple) else (given,))]
    if len(names) == 1:
        return names[0]
    chosen = [trial.diagnostics["kernel"] for trial in optimizer.trials if trial.diagnostics.get("kernel")]
    last = f": {chosen[-1]} for the last suggestion" if chosen else ""
    return f"the one of {' and '.join(names)} that the data favor{last}"


def _versions() -> list[tuple[str, str]]:
    versions = [(package, installed(package)) for package in PACKAGES]
    return [
        ("xstar", __version__),
        ("Python", platform.python_version()),
        *((package, version) for package, version in versions if version is not None),
    ]
