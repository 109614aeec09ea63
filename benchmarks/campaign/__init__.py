"""Every decision about the method as a row of one table: variants as settings, on many problems, paired by repeat.

    python -m benchmarks.campaign run --problems branin hartmann --variants default logei --repeats 64 --jobs 2
    python -m benchmarks.campaign run --problems branin --variants default --repeats 250 --compute torch:cuda
    .venv-peers/bin/python -m benchmarks.campaign run --problems branin --variants optuna-gp botorch-logei --repeats 32
    python -m benchmarks.campaign table

All repeats of a variant on a problem advance in lockstep, those of other libraries one after the other; starts and
noise of a repeat are the same for everybody. A run keeps what it found in output/campaign, one file for each problem,
variant and first repeat. The table compares variants repeat by repeat and goes to benchmarks/results/campaign.json.

Four regrets are counted after every evaluation, all against the known maximum and without noise:

    recommended    at the point that is recommended
    tested         at the evaluated point with the best posterior mean
    observed       at the evaluated point with the best value, which is what Optuna shows
    evaluated      at the best evaluated point in hindsight; with noise nobody knows which one that is
"""
