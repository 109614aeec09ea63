"""Constraints and several objectives: ours beside Optuna's samplers and BoTorch, from the same starts.

    python -m benchmarks.outputs --problems gardner1 zdt1 --methods xstar --repeats 20
    .venv-peers/bin/python -m benchmarks.outputs --problems gardner1 zdt1 --methods optuna-gp botorch --repeats 20
    python -m benchmarks.outputs --table

Every repeat has 2 (d + 1) points of a scrambled Sobol sequence to start with, the same for all methods, and ends after
20 d evaluations. The outputs are without noise; `--noise 0.05` adds a twentieth of the spread of each. Rows of earlier
runs in benchmarks/results/outputs.json are kept and not made again; what is stopped goes on where it was. GPSampler and
BoTorch need torch.

Regrets are counted without noise, and relative to the best known:

    one objective        (value - optimum) / |optimum|; without a feasible point, the worst feasible value counts
    several objectives   (largest hypervolume - hypervolume) / largest hypervolume; infeasible points do not count
    evaluated            at the best feasible one of the evaluated points, or of all of them, in hindsight
    recommended          at the point or set that is recommended, which counts as above if it is infeasible

The table has medians after 10 d and 20 d evaluations, and differences of the decimal logarithms to one of the methods,
paired by repeat, with their 95 % intervals. `python -m benchmarks.outputs.optima` computes anew what is best.
"""
