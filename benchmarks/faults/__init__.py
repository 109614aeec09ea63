"""What is left when processes are killed, disks are full, and databases go away. Every count but the first should be 0.

    python -m benchmarks.faults [--kills 500] [--seed 0] [--kinds save csv sqlite postgresql disk readonly database]

Processes are killed (`kill -9`) at random moments, spread evenly over all that they do, from the first millisecond on:

    save          `Optimizer.save`, in a loop
    csv           `xstar csv`, on a spreadsheet whose rows are filled in between
    sqlite        `xstar run`, a new study with two programs at once, and again when it is begun anew
    postgresql    the same, in a server that is started here

After each kill, what was acknowledged must be there: the study that was saved last, or the one that was being written;
every row of the spreadsheet, byte for byte; every result that the program has said it told, or that was in the study.
Workers are then started again: they must fill every place of the budget, and leave nothing that runs. No file is
written by half, no part of one is left after the next save, and no program outlives its worker.

The other kinds are situations: `disk` (full, by a limit on the size of files, /dev/full, and a small file system where
one may be mounted), `readonly` folders, and `database` (a server that stops and starts, a file that another process has
locked). Results go to benchmarks/results/faults.json.
"""
