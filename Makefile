# The same targets serve people and CI. The first line of a target's comment is its help.
PYTHON ?= python3
# Without the slow ones: fifty kills in place of six, whole solutions of generated tasks.
PYTEST_ARGS ?= -m "not slow"
BENCH ?=
VENV := .venv
BIN := $(VENV)/bin
# Without root a test process must enter its user namespace before it has threads, so its workers are our own.
OWN_WORKERS := --dist load --tx "2*popen//python=$(BIN)/python tests/early_worker.py"
WORKERS := $(shell [ "$$(id -u)" = 0 ] && echo '-n 2' || echo '$(OWN_WORKERS)')

# Whoever has this set would have every command compile all that it imports, at every start.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

setup:  ## create .venv with pinned packages and see to bubblewrap (PYTHON=python3.12 picks another)
	@requirements/setup.sh "$(PYTHON)" "$(VENV)"

demo: setup  ## run the example end to end
	$(BIN)/python examples/demo.py

test: setup  ## run the tests (PYTEST_ARGS= runs the slow ones too)
	$(BIN)/python -m pytest $(WORKERS) -q $(PYTEST_ARGS)

lint: setup  ## style, types and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup  ## run the benchmarks (BENCH=name runs one)
	$(BIN)/python -m benchmarks $(BENCH)

lock:  ## pin the requirements anew
	requirements/lock.sh

clean:  ## remove what the other targets made
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
