# bgdata: the two commands a newcomer needs are `make build` and `make test`.
# Everything is set up in .venv from requirements.lock (hashes checked) by uv, or by pip where uv cannot be had; what only
# tests and checks need is added from requirements-dev.lock by those that need it, and what only the site needs from requirements-docs.lock.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEV    := $(VENV)/.ready-dev
DOCS   := $(VENV)/.ready-docs
LOCK   := requirements.lock
DEV_LOCK := requirements-dev.lock
DOCS_LOCK := requirements-docs.lock
DIST   := dist
BUILD_PYTHON = $(BIN)/python  # with hatchling
UV_VERSION := 0.13.8
COMMA := ,
# those of a proxy are among them
export UV_SYSTEM_CERTS := true
# hundreds of modules compiled again in each process are seconds
unexport PYTHONDONTWRITEBYTECODE

# the packages of a lock file, which names all of them: pip would look for newer ones of those that are locked with an extra;
# what uv says when it fails is left out, since pip goes on, and says itself what is wrong with more than uv
install = $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) 2>/dev/null || { \
          echo "uv could not install $(1): pip does it now, which takes longer"; \
          $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $(1); }

.DEFAULT_GOAL := help
.PHONY: help env build generation test test-all coverage bench check docs wheel release version lock clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /	/' | expand -t 10

env: $(READY)  ## set up .venv from requirements.lock

$(READY): $(LOCK) requirements-uv.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v < (3, 15) else f"bgdata needs Python 3.11 to 3.14, found {v[0]}.{v[1]}; try: make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV) || { echo "could not make a virtual environment: install your system's python3-venv package"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock 2>/dev/null || true  # there is none for this machine
	@$(call install,$(LOCK))
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): $(READY) $(DEV_LOCK)
	@$(call install,$(DEV_LOCK))
	@touch $@

$(DOCS): $(READY) $(DOCS_LOCK)
	@$(call install,$(DOCS_LOCK))
	@touch $@

build: $(READY)  ## build the default warehouse with the Prefect flow, and prove it against warehouse.lock
	@$(BIN)/python -m pipelines.build

generation: $(DEV)  ## let a network play as `network`, and make again all that hangs on it (NETWORK=supervised_network/NAME)
	@$(BIN)/python -m docs.ship $(NETWORK)
	@$(BIN)/python -m docs.ship --follow
	-@$(BIN)/python -m pipelines.build --all  # what it makes differs from the lock, which is written anew
	@$(BIN)/bgdata lock
	@$(BIN)/python -m docs.pictures
	-@$(BIN)/python -m docs.pictures --of-network  # asks gnubg and bgsage too
	-@$(BIN)/python -m docs.screenshots  # needs chromium
	@$(BIN)/python -m tests.mend_pages

# files stay whole, as they share what they build, and begin in the order of tests/minutes.py: the longest first; a test
# that reaches its time limit ends its worker and is run again by another, so only one worker is replaced
PYTEST = $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder \
         --max-worker-restart 1

# what takes long: other programs, servers, processes that are killed, the campaigns of faults at a small size, the
# examples of the documentation and whatever else takes ten seconds or more
test: $(DEV)  ## run the tests, but for those that take long
	@$(PYTEST) -m "not (gnubg or prefect or kills or faults or slow)"

test-all: $(DEV)  ## run all tests, with gnubg, Prefect, kills, faults and all examples
	@$(PYTEST)

ROOMS ?= tests/bearoff tests/equity tests/game tests/store
COVER = $(BIN)/python -m coverage

coverage: $(DEV)  ## say which lines the quick tests of some folders run (ROOMS="tests/game tests/store")
	@$(COVER) erase
	@$(COVER) run -m pytest -n0 -m "not (gnubg or prefect or kills or faults or slow)" $(ROOMS)
	@$(COVER) combine --quiet
	@$(COVER) report --include "$(subst $() ,$(COMMA),$(patsubst tests/%,bgdata/%/*,$(ROOMS)))"

bench: $(DEV)  ## measure most rows of docs/research/speed.md (peers beside it where installed)
	@$(BIN)/python -m tests.benchmarks

check: $(DEV)  ## formatting, lint, directions of imports and types
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/lint-imports --no-logo --no-cache && $(BIN)/mypy

docs: $(DOCS)  ## build the site in docs/_build/html; warnings are errors
	@$(BIN)/python -m sphinx --quiet --builder html --fail-on-warning --keep-going --nitpicky --jobs auto \
	    --doctree-dir docs/_build/doctrees docs docs/_build/html
	@echo "open docs/_build/html/index.html"

wheel: $(if $(findstring $(BIN)/,$(BUILD_PYTHON)),$(READY))  ## build the wheel in dist/: what `pip install` needs where there is no clone
	@$(BUILD_PYTHON) -m hatchling build --target wheel --directory $(DIST)

release: $(DEV)  ## build wheel and sdist twice, prove them, try them out and write notes in dist/ (PYTHONS="3.11 3.12" or none)
	@$(BIN)/python -m docs.release --directory $(DIST) --python $(PYTHONS)

version: $(READY)  ## write a version and today's date where they stand (VERSION=1.1.0)
	@$(BIN)/python -m docs.release --version $(VERSION)

# extras stay named, which pip needs where it takes the place of uv
COMPILE = $(firstword $(wildcard $(BIN)/uv) uv) pip compile --quiet --universal --no-strip-extras --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.11

lock:  ## resolve the requirements*.lock files anew (needs uv)
	@$(COMPILE) --group install --extra flows --extra web pyproject.toml -o $(LOCK)
	@$(COMPILE) --group install --group dev --extra dask --extra dask-flows --extra flows --extra matches --extra onnx --extra plots --extra remote --extra web pyproject.toml -c $(LOCK) -o $(DEV_LOCK)
	@$(COMPILE) --group install --group docs --extra flows --extra web pyproject.toml -c $(LOCK) -o $(DOCS_LOCK)
	@echo "uv==$(UV_VERSION)" | $(COMPILE) - -o requirements-uv.lock

clean:  ## remove the environment and caches (the warehouse stays)
	@rm -rf $(VENV) .bgdata .pytest_cache .mypy_cache .ruff_cache build dist *.egg-info docs/_build
