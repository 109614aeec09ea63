"""The experiments of [HHG14, section 3], and what has come since, on the same problems, starts and noise.

    python -m experiments run figure2 --preset quick

Hernandez-Lobato, Hoffman & Ghahramani, "Predictive entropy search for efficient global optimization of black-box
functions", 2014. Only public names of xstar are used here.
"""
