"""One worker of a study in a database: a program that the tests start, several at a time, and kill.

python worker.py URL STUDY NAME --trials 25
"""

import argparse
import math
import time

import optuna
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback

import xstar
from xstar.acquisition import LogEI
from xstar.gp import MAP, Matern52
from xstar.integrations.optuna import XstarSampler

METHOD = xstar.Method(kernel=Matern52(), inference=MAP(), acquisition=LogEI())


def sampler():
    """The same for all workers: they differ by the numbers of their trials only."""
    return XstarSampler(seed=0, method=METHOD, noise=0.0)


def storage(url, heartbeat=10, grace=120):
    return RDBStorage(
        url,
        heartbeat_interval=heartbeat,
        grace_period=grace,
        heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(max_retry=3),
    )


def branin(x, y):
    return (y - 0.129 * x**2 + 1.592 * x - 6.0) ** 2 + 9.6 * math.cos(x) + 10.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("study")
    parser.add_argument("name")
    parser.add_argument("--trials", type=int, required=True)
    parser.add_argument("--heartbeat", type=int, default=10)
    parser.add_argument("--grace", type=int, default=120)
    parser.add_argument("--seconds", type=float, default=0.0, help="what an evaluation takes")
    parser.add_argument("--block", action="store_true", help="never finish an evaluation")
    parser.add_argument("--until-retried", action="store_true", help="stop once a retried trial is complete")
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(
        study_name=args.study, storage=storage(args.url, args.heartbeat, args.grace), sampler=sampler()
    )

    def objective(trial):
        trial.set_user_attr("worker", args.name)
        value = branin(trial.suggest_float("x", -5.0, 10.0), trial.suggest_float("y", 0.0, 15.0))
        trial.set_user_attr("evaluating", True)
        time.sleep(3600.0 if args.block else args.seconds)
        return value

    def stop_once_retried(study, trial):
        if args.until_retried and RetryHeartbeatStaleTrialCallback.retried_trial_number(trial) is not None:
            study.stop()

    study.optimize(objective, n_trials=args.trials, callbacks=[stop_once_retried])


if __name__ == "__main__":
    main()
