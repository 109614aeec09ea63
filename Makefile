# Everything runs in .venv, which is made on first use with any Python from 3.11 on.
# PYTHON=... chooses another interpreter; VENV=... another place.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; exit; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
# The libraries that benchmarks.speed and the experiments compare with, in an environment of their own.
PEERS ?= .venv-peers
# What only some users have: torch, BoTorch, Ray and Dask. Their tests run there, so that .venv is what README says.
EXTRAS ?= .venv-extras
# One thread for each process: results and timings do not depend on the machine's cores.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

# All tests of a file run in one process: they share what is costly, a server or a search.
IN_TWO := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-slow test-extras mutants lint types contracts check format docs benchmarks tables peers figures figure2 wheel test-versions clean

demo: $(VENV)/.demo
	$(BIN)/python -m examples.demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(IN_TWO) $(PYTEST_ARGS)

# What only long runs can show.
test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest $(IN_TWO) -m "slow and not extras" $(PYTEST_ARGS)

# What needs torch, BoTorch, Ray or Dask: where one of them is missing, its tests fail.
test-extras: $(EXTRAS)/.extras
	$(EXTRAS)/bin/python -m pytest $(IN_TWO) -m extras $(PYTEST_ARGS)

# Changes the code in many small ways, and lists those that no test has noticed: hours. MUTANTS='xstar.gp.jets*' takes a part.
mutants: $(VENV)/.mutants
	$(BIN)/mutmut run $(MUTANTS)
	$(BIN)/mutmut results

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

check: lint types contracts test test-slow test-extras

benchmarks: $(VENV)/.dev
	$(BIN)/python -m benchmarks.core
	$(BIN)/python -m benchmarks.search

# The tables of README and docs, from the results that are kept in benchmarks/results and experiments/results.
tables: $(VENV)/.dev
	$(BIN)/python -m benchmarks.published

# The paper's figures and the page about them, from the results that are kept in experiments/results.
figures: $(VENV)/.experiments
	$(BIN)/python -m experiments figures

# Figure 2 anew, with few repeats, in a few minutes.
figure2: $(VENV)/.experiments
	$(BIN)/python -m experiments run figure2 --preset quick

peers: $(PEERS)/.peers
	@echo "now: $(PEERS)/bin/python -m benchmarks.speed"
	@echo "or:  $(PEERS)/bin/python -m experiments run figure3 --methods pes botorch-logei optuna-gp"

# Without network, and warnings are errors; then what was built is looked at.
docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict
	$(BIN)/python -m website.check site

# Builds the wheel and tries it in empty environments of every Python from 3.11 to 3.13 that is here.
wheel: $(VENV)/.packaging
	$(BIN)/python .ci/wheel.py

# The oldest versions that pyproject.toml allows (.ci/oldest.txt), and the newest: each in an environment of its own.
test-versions: $(BIN)/python
	$(BIN)/python .ci/versions.py

clean:
	rm -rf $(VENV) $(PEERS) $(EXTRAS) build dist site output .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage* mutants

$(BIN)/python $(PEERS)/bin/python $(EXTRAS)/bin/python:
	@test -n "$(PYTHON)" || { echo "xstar needs Python 3.11 or newer; none was found. Name one with: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv $(@:/bin/python=)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	@touch $@

$(VENV)/.experiments: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[experiments]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[mutants]'
	@touch $@

$(VENV)/.packaging: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[packaging]'
	@touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# torch comes first and exactly: whatever else asks for it would bring gigabytes of another version. With greenlet,
# which Optuna does not require, its GPSampler is up to twice as fast.
$(PEERS)/.peers: pyproject.toml | $(PEERS)/bin/python
	$(PEERS)/bin/python -m pip install --quiet torch==2.13.0
	$(PEERS)/bin/python -m pip install --quiet torch==2.13.0 botorch==0.18.1 optuna==5.0.0 greenlet --editable '.[campaign,experiments]'
	@touch $@

$(EXTRAS)/.extras: pyproject.toml | $(EXTRAS)/bin/python
	$(EXTRAS)/bin/python -m pip install --quiet torch==2.13.0
	$(EXTRAS)/bin/python -m pip install --quiet torch==2.13.0 botorch==0.18.1 --editable '.[dev,clusters]'
	@touch $@
