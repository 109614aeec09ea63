"""Random studies, one after another, in which nothing may go wrong. Every count but the first should be 0.

    python -m benchmarks.soak [--minutes 10] [--seed 0]     draw and play studies, for so much CPU time
    python -m benchmarks.soak --replay SEED                 one of them alone, with what it is and where it fails

A study is a function of one whole number: its space (parameters of all kinds, logarithms, steps, one point, many
choices, up to 12 parameters), its method, and what is told: failures, constant values, huge and tiny ones, outliers,
known noise, points told twice and points outside. It is asked for points one by one and in batches, with pending ones
and with parameters fixed; it is saved and loaded in the middle; damaged files are loaded; every question is asked.

    exceptions    of a kind that is no `XstarError`, or where the input is good
    duplicates    two pending suggestions at the same point, of a space with points left
    wrong         suggestions outside the space, numbers that are not finite, another suggestion after `load`

Results go to benchmarks/results/soak.json.
"""
