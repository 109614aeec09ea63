"""A notebook: a campaign in the laboratory, in batches of four, with noise, failures and a reason to stop."""

# %% [markdown]
# # A laboratory campaign
#
# A reaction is to give more product. Temperature, time and the solvent may be varied; four runs fit into a day, yields
# are noisy, and above its boiling point a solvent spills. Here a simulation stands in for the bench.

# %%
# %matplotlib inline
import numpy as np

import xstar

rng = np.random.default_rng(6)
BOILS = {"water": 100.0, "ethanol": 78.0, "toluene": 110.0}
FITS = {"water": 0.6, "ethanol": 0.95, "toluene": 0.5}


def run(temperature, time, solvent):
    """Return the yields of two vials in percent, or None if the solvent boils over."""
    if temperature > BOILS[solvent]:
        return None
    made = 1.0 - np.exp(-time * np.exp((temperature - 70.0) / 15.0) / 1.5)
    kept = np.exp(-time * np.exp((temperature - 90.0) / 20.0) / 30.0)
    return 100.0 * FITS[solvent] * made * kept + 2.0 * rng.standard_normal(2)


# %% [markdown]
# ## What may be varied
#
# With units: pictures and reports show them.

# %%
space = xstar.Space(
    temperature=xstar.Real(30.0, 110.0, step=1.0, unit="°C"),
    time=xstar.Real(0.5, 24.0, log=True, unit="h"),
    solvent=xstar.Categorical(list(BOILS)),
)
opt = xstar.Optimizer(space, direction="maximize", seed=6, num_initial=8)

# %% [markdown]
# ## The first two days
#
# Nothing is known yet, and eight runs fill the space: `num_initial=8`.

# %%
batch = opt.ask(4)
for trial in batch:
    print(f"run {trial.number}: {space.show(trial.params)}")

# %% [markdown]
# Every run is done in two vials. Their mean is told with its standard deviation: that of a vial, 2 %, divided by √2.
# What has spilled is told as a failure, and teaches the model where not to go.


# %%
def tell(batch):
    """Do the runs of a batch, and tell what came of them."""
    for trial in batch:
        vials = run(**trial.params)
        if vials is None:
            opt.fail(trial, "boiled over")
        else:
            opt.tell(trial, vials.mean(), sd=2.0 / np.sqrt(2.0))


tell(batch)
tell(opt.ask(4))
opt

# %% [markdown]
# ## Why these?
#
# From now on the model chooses. The third day's runs, which are informative together, and why the first of them is
# worth its quarter of a day:

# %%
batch = opt.ask(4)
for trial in batch:
    print(f"run {trial.number}: {space.show(trial.params)}")
opt.explain(batch[0])

# %%
xstar.plots.why(opt, batch[0])

# %% [markdown]
# The diamond is the run, with the model along each parameter through it: above the yield that it predicts, below what
# the result would tell about the optimum.

# %%
tell(batch)

# %% [markdown]
# ## Until little is left to gain
#
# The campaign ends when, with 90 % probability, no more than 10 % yield is left to gain, or after eight days.

# %%
for day in range(4, 9):
    left = opt.where().regret_quantile(0.9)
    print(f"before day {day}: {opt.recommend()}; left to gain: {left:.0f}")
    if left < 10.0:
        break
    tell(opt.ask(4))

# %% [markdown]
# ## What is known now

# %%
opt.recommend()

# %%
opt.where()

# %% [markdown]
# What the model says about temperature and time, solvent by solvent: yields in the upper row, information in the lower.
# Crosses are runs that spilled, orange dots are where the optimum may be. Hot and short does as well as mild and long;
# what is best lies along a ridge.

# %%
xstar.plots.view(opt, ["temperature", "time", "solvent"])

# %%
xstar.plots.importance(opt)

# %% [markdown]
# ## What if
#
# The day shift has no more than six hours. What would be best then?

# %%
opt.recommend(fixed={"time": 6.0})

# %% [markdown]
# ## For the files
#
# The study, to go on with tomorrow; a report, one page of HTML with all pictures, for those who were not there; and all
# runs as a table.

# %%
opt.save("campaign.json")
print(xstar.report.write_report(opt, "campaign.html"))

# %%
opt.to_dataframe()
