# `make` alone lists the targets. Everything is installed into $(VENV), nothing anywhere else.

VENV ?= .venv
PYTHON ?= python3
WORKERS ?= 2
# Faults mostly wait, for leases to end; what they state holds with more of them beside each other.
FAULT_WORKERS ?= 3
ARGS ?=

BIN := $(VENV)/bin
PIP_INSTALL := "$(BIN)/python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore

# A made environment is the proof that Python is new enough; each stamp says what was installed into it.
MADE := $(VENV)/pyvenv.cfg
SERVE_STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-test

.DEFAULT_GOAL := help
.PHONY: help serve ask test faults mutations simulate lint format types contracts sizes check bench build clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

serve: $(SERVE_STAMP) ## start puntual on SQLite with the quickstart's schedules (Ctrl-C stops it)
	@mkdir -p var/quickstart
	@PUNTUAL_CONFIG=examples/quickstart.toml exec "$(BIN)/puntual" serve --apply examples/quickstart.yaml $(ARGS)

ask: $(SERVE_STAMP) ## ask the quickstart while it is served (ARGS="run list" instead of status)
	@PUNTUAL_CONFIG=examples/quickstart.toml "$(BIN)/puntual" $(or $(ARGS),status)

test: $(TEST_STAMP) ## every test but faults and figures (ARGS="-k name" narrows it)
	@"$(BIN)/python" -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

faults: $(TEST_STAMP) ## break real processes and what they stand on, for ten minutes at most
	@tools/need_faketime
	@"$(BIN)/python" -m pytest -m fault -n $(FAULT_WORKERS) --dist load -rP tests/faults $(ARGS)

mutations: $(TEST_STAMP) ## break the engine in every way that we know, and see the simulation notice each
	@"$(BIN)/python" -m pytest -m mutation tests/mutations $(ARGS)

simulate: $(SERVE_STAMP) ## live through 500 fresh worlds in which everything breaks (ARGS="--seed 7" for that one)
	@"$(BIN)/puntual" simulate $(or $(ARGS),--seeds 500)

lint: $(TEST_STAMP) ## ruff: rules and format
	@"$(BIN)/ruff" check --quiet .
	@"$(BIN)/ruff" format --quiet --check .

format: $(TEST_STAMP) ## let ruff rewrite what it can
	@"$(BIN)/ruff" check --fix .
	@"$(BIN)/ruff" format .

types: $(TEST_STAMP) ## mypy --strict on src, tests and tools
	@"$(BIN)/mypy"

contracts: $(TEST_STAMP) ## which module may import which
	@"$(BIN)/lint-imports" --no-cache

sizes: $(TEST_STAMP) ## files and functions within their caps
	@"$(BIN)/python" tools/check_sizes.py

check: lint types contracts sizes ## all that CI checks beside the tests

bench: $(SERVE_STAMP) ## measure, each figure beside its floor
	@"$(BIN)/puntual" bench $(ARGS)

build: $(TEST_STAMP) ## a wheel and a source archive in dist/
	@"$(BIN)/python" -m build --outdir dist .

clean: ## remove the environment, builds, caches and the quickstart's data
	@rm -rf "$(VENV)" build dist var .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests tools examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(MADE):
	@for python in "$(PYTHON)" python3 python3.14 python3.13 python3.12 python3.11; do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			echo "making $(VENV) with $$("$$python" --version)"; \
			"$$python" -m venv "$(VENV)" && exit 0; \
			rm -rf "$(VENV)"; \
			echo "$$python cannot make a virtual environment: install its venv module (on Debian, the package python3-venv)." >&2; \
			exit 1; \
		fi; \
	done; \
	echo "puntual needs Python 3.11 or newer, and $(PYTHON) is $$("$(PYTHON)" --version 2>&1): install one, or say PYTHON=/path/to/python3." >&2; \
	exit 1

$(SERVE_STAMP): $(MADE) pyproject.toml
	@echo "installing puntual"
	@$(PIP_INSTALL) --editable .
	@touch "$@"

$(TEST_STAMP): $(MADE) pyproject.toml
	@tools/need_pgbouncer
	@echo "installing puntual with what its tests need"
	@$(PIP_INSTALL) --editable '.[test]'
	@touch "$@"
