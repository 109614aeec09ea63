"""Play one study from its number; whatever goes wrong is an exception."""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import xstar
from benchmarks.soak.cases import Case, Function, draw, legal, outside
from xstar.errors import SpaceExhausted, TrialError, XstarError
from xstar.search import Points

DAMAGES = 3
"""Damaged files that are loaded, of each study."""
ASKED = {"where": 0.3, "explain": 0.15, "information": 0.15, "importance": 0.15}
"""How often some questions are asked, for each parameter less often: they cost as much as many suggestions."""
MOST_FLIPPED = 4
"""Bytes that are changed in one of them."""


class Duplicate(Exception):
    """Two pending suggestions are at the same point."""


class Wrong(Exception):
    """An answer that cannot be right."""


@dataclass
class Played:
    """What has happened in one study."""

    seed: int
    asks: int = 0
    slowest: float = 0.0
    """CPU seconds of one suggestion."""
    problem: str | None = None
    kind: str | None = None
    """Of the problem: exception, duplicate, wrong."""
    fallbacks: int = field(default=0)
    """Suggestions that a simpler method had to make."""


def play(seed: int) -> Played:
    """Play a study; a problem ends it."""
    played = Played(seed)
    try:
        run(seed, played)
    except Exception as error:
        played.kind = {Duplicate: "duplicate", Wrong: "wrong"}.get(type(error), "exception")
        played.problem = f"{type(error).__name__}: {error}"
    return played


def run(seed: int, played: Played) -> None:
    """Play a study; what goes wrong is raised."""
    rng = np.random.default_rng(seed)
    case = draw(rng)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        _Session(case, rng, played, Path(folder) / "study.json").run()


class _Session:
    def __init__(self, case: Case, rng: np.random.Generator, played: Played, path: Path) -> None:
        self.case, self.rng, self.played, self.path = case, rng, played, path
        self.space, self.function = case.space, Function(case, rng)
        self.optimizer = case.optimizer()

    def run(self) -> None:
        for _ in range(self.case.told):
            self._tell(outside(self.space, self.rng) if self.rng.random() < 0.1 else legal(self.space, self.rng))
            if self.rng.random() < 0.1:
                self._tell(self.optimizer.trials[-1].params)
        middle = int(self.rng.integers(self.case.steps))
        for step in range(self.case.steps):
            try:
                batch = self._ask()
            except SpaceExhausted:
                if self.space.domain.size is None:
                    raise Wrong("a space without end is exhausted") from None
                break
            for trial in batch:
                if self.rng.random() < 0.7:
                    self._tell(trial)
                elif self.rng.random() < 0.2:
                    self.optimizer.withdraw(trial)
            if step == middle:
                self._save_and_load()
        self._question()

    # Telling and asking

    def _tell(self, what: Any) -> None:
        value = self.function(what.params if isinstance(what, xstar.Trial) else what)
        sd = [None, None, None, 0.0, 0.1 * self.case.scale][self.rng.integers(5)]
        self.optimizer.tell(what, value, sd)

    def _ask(self) -> list[xstar.Trial]:
        count = int(self.rng.choice([1, 1, 2, 4]))
        fixed = self._fixed() if self.rng.random() < 0.2 else None
        before = [trial for trial in self.optimizer.trials if trial.state == "pending"]
        options: dict[str, Any] = {"last": self.rng.random() < 0.1, "repeat": self.rng.random() < 0.8}
        batch: list[xstar.Trial] = []
        for _ in range(count):
            began = time.process_time()
            try:
                trial = self.optimizer.ask(fixed=fixed, **options)
            except SpaceExhausted:
                if not batch:
                    raise
                break
            self.played.slowest = max(self.played.slowest, time.process_time() - began)
            self.played.asks += 1
            self.played.fallbacks += trial.diagnostics.get("fallback") is not None
            self._check(trial, before + batch, fixed)
            batch.append(trial)
        return batch

    def _fixed(self) -> dict[str, Any]:
        params = legal(self.space, self.rng)
        return {name: value for name, value in params.items() if self.rng.random() < 0.5}

    def _check(self, trial: xstar.Trial, pending: list[xstar.Trial], fixed: dict[str, Any] | None) -> None:
        """Whether a suggestion is legal, as held, and none that is pending; unless there is no other."""
        if not self.space.contains(trial.params):
            raise Wrong(f"{dict(trial.params)} is not in {self.space}")
        held = fixed or {}
        if any(not _same(trial.params[name], value) for name, value in held.items()):
            raise Wrong(f"{dict(trial.params)} was to have {held}")
        if not set(self.space.free).difference(held):
            return
        domain = self.space.pin(held) if held else self.space.domain
        rows = np.array([self.space.encode(other.params) for other in pending]).reshape(-1, domain.dimension)
        if not Points(domain, rows).has(self.space.encode(trial.params)[None])[0]:
            return
        others = [self.space.encode(other.params) for other in self.optimizer.trials if other.number != trial.number]
        if domain.size is None or len(Points(domain, np.array(others))) < domain.size:
            raise Duplicate(f"trial {trial.number} of {self.space} is at a pending point, {dict(trial.params)}")

    # Files

    def _save_and_load(self) -> None:
        self.optimizer.save(self.path)
        loaded = xstar.Optimizer.load(self.path)
        number = len(self.optimizer.trials) + 5
        mine, other = (_proposal(optimizer, number) for optimizer in (self.optimizer, loaded))
        if mine != other:
            raise Wrong(f"{mine} is suggested, and after load {other}")
        self.optimizer = loaded
        content = self.path.read_bytes()
        for _ in range(DAMAGES):
            self.path.write_bytes(damaged(content, self.rng))
            try:
                repr(xstar.Optimizer.load(self.path))
            except XstarError:
                pass
            except Exception as error:
                raise RuntimeError(f"loading a damaged file: {type(error).__name__}: {error}") from error

    # Questions

    def _question(self) -> None:
        """Ask everything there is to ask; without results, the answer is an error that says so."""
        points = [legal(self.space, self.rng) for _ in range(3)]
        told = [trial for trial in self.optimizer.trials if trial.state == "done"]
        for name, answers in self._answers(points):
            if name in ASKED and self.rng.random() > ASKED[name] / max(len(self.space.free), 1):
                continue
            try:
                found = list(answers)
            except TrialError:
                if told and name not in ("tested", "explain"):
                    raise
                continue
            for answer in found:
                _check_finite(name, answer)

    def _answers(self, points: list[dict[str, Any]]) -> Iterator[tuple[str, Iterator[Any]]]:
        opt, rng = self.optimizer, self.rng

        def recommend(**settings: Any) -> Iterator[Any]:
            found = opt.recommend(**settings)
            yield from (found.mean, found.sd, found.feasibility)
            str(found)
            if not settings.get("tested") and not self.space.contains(found.params):
                raise Wrong(f"{found.params} is recommended, outside {self.space}")

        def where() -> Iterator[Any]:
            found = opt.where(20)
            found.intervals()
            str(found)
            values = {trial.value for trial in opt.trials if trial.state == "done"}
            if len(values) > 1:
                yield found.regret

        def explain() -> Iterator[Any]:
            for what in (points[0], len(opt.trials) - 1):
                found = opt.explain(what)
                str(found)
                yield from (found.bits, found.mean, found.sd, found.exploration, found.feasibility)

        def arrays() -> Iterator[Any]:
            yield from opt.predict(points)
            yield from opt.interval(points, float(rng.uniform(0.01, 0.99)))
            yield from opt.plausible

        def importance() -> Iterator[Any]:
            found = opt.importance(8)
            str(found)
            for share in (*found.values.values(), *found.information.values()):
                yield np.array([share.share, share.low, share.high])

        def calibration() -> Iterator[Any]:
            found = opt.calibration()
            str(found)
            yield from (found.mean, found.low, found.high, found.z)

        yield "recommend", recommend()
        yield "tested", recommend(tested=True)
        yield "where", where()
        yield "explain", explain()
        yield "predict", arrays()
        yield "information", iter([None]) if not opt.trials else (opt.information(points) for _ in range(1))
        yield "similarity", (opt.similarity(points, points[::-1]) for _ in range(1))
        yield "importance", importance()
        yield "calibration", calibration()


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A file cut off, with a part missing or twice, or with other bytes."""
    how, cut, end = rng.integers(4), int(rng.integers(len(content))), int(rng.integers(len(content)))
    if how == 0:
        return content[:cut]
    if how == 1:
        return content[:cut] + content[cut + int(rng.integers(1, 50)) :]
    if how == 2:
        return content[:cut] + content[min(cut, end) :]
    flipped = bytearray(content)
    for _ in range(rng.integers(1, MOST_FLIPPED + 1)):
        flipped[rng.integers(len(content))] = rng.choice([rng.integers(256), *b'0123456789-.e"[]{},'])
    return bytes(flipped)


def _proposal(optimizer: xstar.Optimizer, number: int) -> Any:
    """The next suggestion, or that there is none."""
    try:
        return repr(dict(optimizer.propose(number).params))
    except SpaceExhausted:
        return "exhausted"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    return type(one) is type(other) and one == other


def _check_finite(name: str, answer: Any) -> None:
    if answer is not None and not np.all(np.isfinite(np.asarray(answer, dtype=np.float64))):
        raise Wrong(f"{name} says {answer}")
