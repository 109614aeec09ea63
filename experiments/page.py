"""The page that puts each figure beside what the paper says about it: one file, without scripts or other files."""

from __future__ import annotations

import base64
import html
from pathlib import Path
from typing import Any

from experiments import claims, figures, surfaces
from experiments.methods import FIGURED
from experiments.methods import TITLES as METHODS
from experiments.problems import TITLES as PROBLEMS
from experiments.statistics import compare
from experiments.store import Results, read_results
from experiments.studies import FIGURES, HYDROGEN
from experiments.studies import PROBLEMS as ALL_PROBLEMS

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #1a1a1a; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2em; border-top: 1px solid #ddd; padding-top: .8em; }
img { max-width: 100%; } table { border-collapse: collapse; margin: 1em 0; }
code { background: #f3f3f3; padding: 0 .2em; } th { background: #f6f6f6; }
td, th { border: 1px solid #ddd; padding: .35em .6em; text-align: left; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; } th.words { min-width: 13em; }
.seen { color: #0a6b2d; } .not { color: #9b1c1c; }
ul { margin: .2em 0; padding-left: 1.2em; } small, .small { color: #555; font-size: 13px; }
"""
INTRODUCTION = """
The experiments of Hernández-Lobato, Hoffman & Ghahramani, "Predictive entropy search for efficient global
optimization of black-box functions" (2014), run again with xstar. All methods of a repeat have the same start and the
same noise, and recommend the maximizer of the posterior mean after every evaluation. Curves are medians of the
immediate regret over repeats; bands are one standard deviation of their bootstrap. A method is called better or worse
if a 95 % bootstrap interval says so, for the last evaluation or for the average over the run; that either may decide
makes up to one such verdict in ten wrong where there is no difference. Two methods do equally well if their medians
are within a factor of 1.26.
"""
CAPTIONS = {
    "figure1": "Figure 1. What an observation is expected to tell about the place of the maximum",
    "figure2": "Figure 2. Functions of the model, hyperparameters known",
    "figure3": "Figure 3. Analytic functions, hyperparameters learned",
    "figure4": "Figure 4. Functions from practice, hyperparameters learned",
}
STAND_IN = """
The measurements of hydrogen production that the paper used are not public; the yield of a fullerene synthesis by three
parameters stands in for them, and nothing about Hydrogen follows from it.
"""
NOTES = {
    "figure1": """
Ten measurements (crosses) of a function drawn from the model. RS is the truth on a grid, by rejection sampling; each
panel has its own color scale. "PES, 2014" is the paper's algorithm; PES of xstar knows that a maximum may lie on the
border of the domain, and that it is above all other values.
""",
    "figure2": """
Each repeat has its own function: 1024 values drawn from the prior, and the posterior mean of them. All methods know the
kernel, its hyperparameters and the noise.
""",
    "figure3": """
Noise of variance 1e-3, three points of a Latin hypercube to start with. EI and PES average over samples of the
hyperparameters; ES and PES-NB use the mean of such samples. Branin is not rescaled.
""",
    "figure4": f"""
NNet: error of a network on Boston Housing by weight decay and training iterations. Portfolio: Sharpe ratio by the
weights of three stocks. Both are GPs fitted to 1000 samples. Walker: speed of a simulated biped by eight parameters of
its controller, with noise of standard deviation 0.01 (A) and 0.1 (B). {STAND_IN if HYDROGEN != "hydrogen" else ""} The
ranges, the network, the walker's box and the window of dates are ours: compare the order of methods with the paper's,
not the regrets.
""",
}
OURS = """
Median regret after the last evaluation; below it, log10 of the ratio of ours to it, then and on average over the run
(negative: ours is better). Ratios are of the repeats that both have made: where a method has fewer, its median and ours
are not of the same ones. Bold: better than ours in the end by more than chance.
"""

KERNELS = """
Ours differs from the algorithm of 2014 by its acquisition and by its model: the kernel is chosen by the data. Each was
also run with the other's model.
"""
KERNEL_PAIRS = (("pes", "pes-se"), ("pes-se", "pes-2014"), ("pes-2014-chosen", "pes-2014"))


def write(results: Path, to: Path) -> list[Path]:
    """Draw what there are results of, and write the page."""
    found = read_results(results, ALL_PROBLEMS)
    paths: list[Path] = []
    parts: list[str] = []
    surface_file = results / "figure1.json"
    if surface_file.exists():
        content = surfaces.load(surface_file)
        paths += figures.save(figures.draw_surfaces(content), to, "figure1")
        parts.append(_section("figure1", paths[-2], _likeness(content)))
    all_findings = claims.findings(found)
    for name, problems in FIGURES.items():
        own = {problem: found[problem] for problem in problems if set(FIGURED) & found.get(problem, {}).keys()}
        if not own:
            continue
        drawn = figures.draw_within_model(own["within-model"]) if name == "figure2" else figures.draw_problems(own)
        paths += figures.save(drawn, to, name)
        parts.append(_section(name, paths[-2], _claims([f for f in all_findings if f.claim.figure == name])))
    if not parts and not found:
        raise SystemExit(f"there are no results in {results}; `python -m experiments run figure2` makes some.")
    page = to / "page.html"
    to.mkdir(parents=True, exist_ok=True)
    page.write_text(_document([*parts, _ours(found), _kernels(found)], results), encoding="utf-8")
    return [*paths, page]


def _document(parts: list[str], results: Path) -> str:
    title = "The experiments of PES, run again"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>{_paragraph(INTRODUCTION)}"
        f"{''.join(parts)}<p class=small>Made by <code>python -m experiments</code> from the files in "
        f"<code>{html.escape(results.name)}</code>, which hold versions, seeds and every regret.</p></body></html>\n"
    )


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(' '.join(text.split()), quote=False)}</p>"


def _section(name: str, picture: Path, body: str) -> str:
    data = base64.b64encode(picture.read_bytes()).decode()
    image = f'<img alt="{CAPTIONS[name]}" src="data:image/png;base64,{data}">'
    return f"<h2>{CAPTIONS[name]}</h2>{_paragraph(NOTES[name])}{image}{body}"


def _likeness(content: dict[str, Any]) -> str:
    verdict, sentence, means = claims.likeness_finding(content)
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td>"
        + "".join(f"<td class=number>{mean[key].middle:.3f}</td>" for key in ("pearson", "spearman", "attained"))
        + "</tr>"
        for name, mean in means.items()
    )
    table = (
        "<table><tr><th>mean over data sets</th><th>Pearson</th><th>Spearman</th>"
        f"<th>information at its best point, share of the largest</th></tr>{rows}</table>"
    )
    return _table([("PES's surface is much more like the truth than that of ES.", verdict, [sentence])]) + table


def _claims(found: list[claims.Finding]) -> str:
    return _table([(finding.claim.words, finding.verdict, finding.details) for finding in found]) if found else ""


def _table(rows: list[tuple[str, str, list[str]]]) -> str:
    body = "".join(
        f'<tr><td>{html.escape(words)}</td><td class="{"seen" if verdict.startswith("seen") else "not"}">'
        f"<b>{html.escape(verdict)}</b></td><td><ul>{_items(details)}</ul></td></tr>"
        for words, verdict, details in rows
    )
    return f"<table><tr><th>The paper says</th><th>Here</th><th>In numbers</th></tr>{body}</table>"


def _items(sentences: list[str]) -> str:
    return "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)


def _ours(results: Results) -> str:
    """The default of xstar against all its other methods, problem by problem."""
    found = claims.standings(results, FIGURED)
    if not found:
        return ""
    names = [name for name in FIGURED if any(name in standing.rivals for standing in found)]
    head = "".join(f"<th>{METHODS[name]}</th>" for name in names)
    rows = "".join(
        f"<tr><td>{PROBLEMS[standing.problem]}, {standing.evaluations}</td><td class=number>{standing.median:.1e}</td>"
        f"{''.join(_rival(standing, name) for name in names)}<td>{html.escape(standing.verdict)}</td></tr>"
        for standing in found
    )
    return (
        f"<h2>xstar against all others</h2>{_paragraph(OURS)}<table><tr><th>Problem, evaluations</th>"
        f"<th>{METHODS[claims.OURS]}</th>{head}<th class=words>Verdict</th></tr>{rows}</table>"
    )


def _kernels(results: Results) -> str:
    """Where they were run: ours with the paper's kernel, and the paper's PES with the kernel chosen."""
    rows = ""
    for problem, methods in results.items():
        for first, second in (pair for pair in KERNEL_PAIRS if set(pair) <= methods.keys()):
            pair = compare(methods[first], methods[second])
            rows += (
                f"<tr><td>{PROBLEMS[problem]}</td><td>{METHODS[first]}</td><td>{pair.verdict}</td>"
                f"<td>than {METHODS[second]}</td><td class=number>{claims.words(pair.last)}</td>"
                f"<td class=number>{claims.words(pair.run)}</td></tr>"
            )
    if not rows:
        return ""
    head = "<th>Problem</th><th></th><th></th><th></th><th>log10 of the ratio in the end</th><th>over the run</th>"
    return f"<h2>What is due to the kernel</h2>{_paragraph(KERNELS)}<table><tr>{head}</tr>{rows}</table>"


def _rival(standing: claims.Standing, name: str) -> str:
    if name not in standing.rivals:
        return "<td></td>"
    median, pair = standing.rivals[name]
    shown = f"<b>{median:.1e}</b>" if pair.last.sign > 0 else f"{median:.1e}"
    return f"<td class=number>{shown}<br><small>{pair.last.middle:+z.2f}, {pair.run.middle:+z.2f}</small></td>"
