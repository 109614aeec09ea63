"""xstar inside other tools: `xstar.integrations.optuna` is the sampler for Optuna."""
