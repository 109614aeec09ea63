"""Whether what the models claim is true: intervals of the optimum, the bound on what is left to gain, predictions.

    python -m benchmarks.calibration run [--sets bbob-2 branin] [--variants default] [--instances 3 4]
                                            [--compute torch:cuda]
    python -m benchmarks.calibration table

Runs advance in lockstep. After 3, 5, 7, 10, 14 and 20 evaluations for each coordinate the models are asked where the
optimum is and what is left to gain; what they say is held against the known maximum. Values are in units of the
function's standard deviation over the cube, without noise and with noise of a tenth of it. Counted are, with binomial
95 % intervals:

    bound      runs in which no more was left to gain than the 95 % bound said
    |z|        runs in which the value at the recommendation was within 1.96 sd of what was predicted
    inside     coordinates of a maximizer within their 90 % intervals
    early      of the runs that would have stopped at a tolerance of 0.1, those where more was left to gain
"""
