"""xstar as a sampler for Optuna, and Optuna's studies as xstar's evidence."""

from xstar.integrations.optuna.sampler import XstarSampler, load_optimizer

__all__ = ["XstarSampler", "load_optimizer"]
