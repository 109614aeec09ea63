"""The tables of README and docs, written from the results that are kept.

    python -m benchmarks.published            write them: `make tables`
    python -m benchmarks.published --check    name the tables that are not what the results say

A table stands in its page between two comments, `<!-- table: accuracy_2d -->` and `<!-- end of table -->`; what is
between them is never edited by hand. `pages` says which tables a page has, and which function makes each of them from
benchmarks/results or experiments/results.
"""
