# Each target sets up what it needs, says so, and can be run again at once. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

# make demo GOFER_BUILD_CA=/path/bundle.pem: handed on to the image builds (deploy/images.md).
ifdef GOFER_BUILD_CA
export GOFER_BUILD_CA
endif

PYTHON := .venv/bin/python
SETUP := deploy/setup
WITH_ENGINE := $(SETUP)/with-engine.sh
# Test processes at once. Most tests on the engine wait for it, so two do on a small machine.
WORKERS ?= 2
PYTEST := $(PYTHON) -m pytest -n $(WORKERS) --dist loadfile

# Passed on: make demo ARGS=--real-model, make test ARGS="-k egress"
ARGS ?=

.PHONY: help demo test test-all lint bench images setup engine test-programs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup ## one real task end to end: comment in, real container, real agent, diff out
	@$(WITH_ENGINE) .venv/bin/gofer demo $(ARGS)

test: lint setup test-programs ## lint and the tests, without the slow ones
	@$(WITH_ENGINE) $(PYTEST) -m "not slow" $(ARGS)

test-all: lint setup test-programs ## lint and all tests
	@$(WITH_ENGINE) $(PYTEST) $(ARGS)

bench: setup ## measure, and print the figures with this machine's name
	@$(WITH_ENGINE) $(PYTHON) -m tests.bench.run $(ARGS)

lint: .venv/gofer-ready .venv/egress-types-ready ## ruff, mypy, and shellcheck where it is installed
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check --quiet .
	@$(PYTHON) -m mypy
	@$(SETUP)/lint-egress.sh
	@if command -v shellcheck >/dev/null; then shellcheck -x $(SETUP)/*.sh images/*/*.sh images/base/{entry,setup,wayout} images/pi/pi .ci/run; \
	else echo "lint: shellcheck is not installed; the shell scripts were not checked"; fi

images: .venv/gofer-ready engine ## build the images whose inputs have changed
	@$(WITH_ENGINE) $(PYTHON) -m sandbox.images build

setup: images ## virtual environment, Docker Engine and images

# After the virtual environment: that step brings python3, which the next one asks the engine with.
engine: .venv/gofer-ready
	@$(SETUP)/engine.sh

test-programs:
	@$(SETUP)/test-programs.sh

.venv/gofer-ready: deploy/requirements.txt pyproject.toml $(SETUP)/venv.sh
	@$(SETUP)/venv.sh
	@touch $@

# mitmproxy's own types, for checking what runs in the egress image: unpacked, never run here.
.venv/egress-types-ready: images/egress/requirements.txt .venv/gofer-ready $(SETUP)/egress-types.sh
	@$(SETUP)/egress-types.sh
	@touch $@

clean: ## remove what make has put here, and images of ours that were replaced; no task and no data
	@if [ -x $(PYTHON) ]; then $(WITH_ENGINE) $(PYTHON) -m sandbox.images prune || true; fi
	@rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
