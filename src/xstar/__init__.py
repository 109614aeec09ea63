"""xstar finds the maximizer of an expensive, noisy black-box function in few evaluations."""

__version__ = "0.1.0.dev0"
