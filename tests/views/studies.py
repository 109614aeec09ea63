"""Studies of every kind, for pictures of them."""

import numpy as np

from xstar import Categorical, Integer, Method, Optimizer, Ordinal, Real, Trial
from xstar.acquisition import PES
from xstar.gp import MAP, Matern52

METHOD = Method(Matern52(), MAP(), acquisition=PES(num_samples=5, num_features=64))
SAMPLES = 12
MIXED = {
    "lr": Real(1e-5, 1e-1, log=True),
    "momentum": Real(0.0, 1.0),
    "layers": Integer(1, 6),
    "batch": Integer(1, 4096, log=True),
    "activation": Categorical(["relu", "gelu", None]),
    "bias": Categorical([True, False]),
}
CHOICES = {"c": Categorical(list("uvwxyz")), "b": Categorical([1, "1", 2]), "s": Ordinal([16, 32, 64])}


def gain(params):
    return 10.0 * params["momentum"] - 3.0 * abs(params["layers"] - 4)


def hill(params):
    return -((params["x0"] - 0.3) ** 2)


def told(space, function, count=6, failures=0, running=0, **settings):
    """An optimizer with so many results at random points, then failures, then running trials."""
    settings = {"method": METHOD, **settings}
    empty, rng = Optimizer(space, **settings), np.random.default_rng(3)
    trials = []
    for number in range(count + failures + running):
        params = empty.space.decode(rng.uniform(size=empty.space.domain.dimension))
        if number < count:
            trials.append(Trial(number, params, "done", float(function(params))))
        elif number < count + failures:
            trials.append(Trial(number, params, "failed", reason="crashed"))
        else:
            trials.append(Trial(number, params))
    return Optimizer.from_trials(trials, space, **settings)


STUDIES = {
    "one number": lambda: told([(0.0, 1.0)], hill, 7, failures=1, running=1),
    "minimized": lambda: told([(0.0, 1.0)], lambda p: -hill(p), 7, direction="minimize"),
    "two numbers": lambda: told([(0.0, 1.0), (-5.0, 5.0)], lambda p: p["x0"] * p["x1"], 8, failures=2),
    "choices": lambda: told(CHOICES, lambda p: "uvwxyz".index(p["c"]) + p["s"] / 16, 8, failures=1),
    "two choices": lambda: told({"c": Categorical(["u", "v", "w"]), "b": Categorical([1, 2])}, lambda p: p["b"]),
    "many choices": lambda: told({f"p{k}": Categorical(list("abcd")) for k in range(6)}, lambda p: ord(p["p0"])),
    "six parameters": lambda: told(MIXED, gain, 9, running=1),
    "constant": lambda: told([(0.0, 1.0), (-5.0, 5.0)], lambda p: 2.0),
    "one result": lambda: told([(0.0, 1.0), (-5.0, 5.0)], lambda p: 2.0, 1),
    "steps": lambda: told({"k": Integer(0, 10**15), "h": Real(0.1, 0.5, step=0.1)}, lambda p: p["h"]),
    "narrow": lambda: told({"x": Real(1000.0, 1000.001), "y": Real(1.0, 2.0)}, lambda p: p["x"] + p["y"]),
    "far values": lambda: told([(0.0, 1.0)], lambda p: -1e100 if p["x0"] < 0.09 else p["x0"], 7),
    "one point": lambda: told({"x": Real(1.0, 1.0)}, lambda p: 1.0, 2),
}
