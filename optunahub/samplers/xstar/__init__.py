from xstar.integrations.optuna import XstarSampler


__all__ = ["XstarSampler"]
