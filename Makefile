# Every target makes the environment it needs: only Python >= 3.11 and make are assumed.
# make PYTHON=/path/to/python chooses the interpreter; a .venv that exists is kept.

VENV := .venv
BIN := $(VENV)/bin
# Two sizes of one environment: what use and `make test` need, and what all else needs.
SMALL := $(VENV)/.small
READY := $(VENV)/.ready
# Without compiling all of numba and its like: what is imported is compiled then.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
PYTHON ?= python3 python3.13 python3.12 python3.11 python3.14 python
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# The tests of what kernels compute: what is worth running without the compiler, and compiled with every index checked.
# Both refuse the same indexes (tests/engine/test_compiled.py); compiled there are four times as many random cases.
KERNELS = tests/engine tests/search tests/gang tests/market tests/gym tests/optimize/rolling tests/slurm tests/test_simulate.py \
  tests/model/test_metrics.py tests/model/test_properties.py tests/model/test_examples.py tests/core/test_least_tree.py \
  tests/features/test_matrix.py tests/features/test_power_saving.py tests/features/test_switch_rates.py tests/features/test_uneven_nodes.py
# What these test is processes, files, clocks and results: other tests ask as much of the kernels, in less time.
BESIDE = tests/search/test_islands.py tests/search/test_checkpoint.py tests/search/test_clock.py \
  tests/search/test_optimize.py tests/search/test_adapters.py tests/optimize/rolling/test_checkpoint.py \
  tests/search/test_methods.py::test_better_than_chance \
  tests/slurm/test_live.py tests/slurm/test_twin.py tests/slurm/test_corners.py tests/slurm/test_recorded_days.py \
  tests/slurm/test_against_naive_shared.py tests/slurm/test_against_naive_sizes.py
BENCHMARKS = $(wildcard benchmarks/bench_*.py) benchmarks/heuristics.py benchmarks/packages.py
NOTEBOOKS = $(wildcard notebooks/*.ipynb)
COVERAGE_FLOOR ?= 98

export MPLBACKEND := Agg
# Whoever keeps no bytecode compiles every file of ours again in each of hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-deep lint types contract checks nojit boundscheck bench table notebooks docs pictures changelog release wheel clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

$(SMALL): pyproject.toml constraints.txt
	@set -e; \
	if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	  chosen=; bare=; \
	  for python in $(PYTHON); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	    if "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then chosen="$$python"; break; fi; \
	    bare="$$python"; \
	  done; \
	  if [ -z "$$chosen" ] && [ -n "$$bare" ]; then \
	    echo "$$bare cannot make a virtual environment: it has no ensurepip. Install it (on Debian and Ubuntu: the package python3-venv), or name another one: make PYTHON=/path/to/python" >&2; exit 1; \
	  fi; \
	  if [ -z "$$chosen" ]; then \
	    echo "No Python >= 3.11 found (tried: $(PYTHON)). Install one, or name it: make PYTHON=/path/to/python" >&2; exit 1; \
	  fi; \
	  echo "Making $(VENV) with $$chosen"; \
	  rm -rf $(VENV); "$$chosen" -m venv $(VENV); \
	fi; \
	$(PIP) -e '.[test]'
	@touch $@

$(READY): $(SMALL)
	@$(PIP) -e '.[dev]'
	@touch $@

demo: $(SMALL) ## Simulate the shipped trace under several policies; writes demo-report/report.html
	$(BIN)/fedsched demo

test: $(SMALL) ## Test every feature, reader, command, bound and search, in minutes
	$(PYTEST) -m 'not deep'

test-deep: $(READY) ## Run what `make test` leaves out: daemons, browsers, other packages, many random cases
	FEDSCHED_DEEP=1 $(PYTEST) -m 'deep or drawn'

lint: $(READY) ## Check style and spelling
	$(BIN)/ruff check .
	$(BIN)/codespell *.md docs changes fedsched benchmarks tools notebooks

types: $(READY) ## Check types
	$(BIN)/mypy --strict fedsched

contract: $(READY) ## Check that imports go one way
	$(BIN)/lint-imports --no-cache

checks: $(READY) ## Check style, types and imports and build the documentation, two at a time: each needs one core
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) lint types contract docs

.PHONY: build/coverage.ini
build/coverage.ini: $(READY)
	@mkdir -p build; $(BIN)/python tools/coverage_settings.py > $@

nojit: $(READY) build/coverage.ini ## Run the kernels' tests without the compiler, under coverage of the kernels' branches with a floor
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m 'not slow and not needs_traces and not compiled' $(KERNELS) $(BESIDE:%=--deselect=%) \
	  --cov --cov-config=build/coverage.ini --cov-report=term-missing:skip-covered --cov-fail-under=$(COVERAGE_FLOOR)

boundscheck: $(READY) ## Run the kernels' tests with every array index checked
	NUMBA_BOUNDSCHECK=1 FEDSCHED_DEEP=1 $(PYTEST) -m 'not slow and not needs_traces' $(KERNELS) $(BESIDE:%=--deselect=%)

bench: $(READY) ## Run the benchmarks (SMOKE=1: small, two at a time, only that they run)
ifdef SMOKE
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) $(BENCHMARKS:=.smoke)
else
	@for file in $(BENCHMARKS); do echo "$$file"; $(BIN)/python $$file || exit 1; done
endif

%.smoke: %
	@echo "$<"; $(BIN)/python $< --smoke

table: $(READY) ## Write the recorded figures into README and the pages on performance and reproduction
	$(BIN)/python benchmarks/performance_page.py
	$(BIN)/python benchmarks/reproduction_page.py

notebooks: $(READY) ## Run the notebooks (FEDSCHED_BUDGET=small: at a reduced budget)
ifeq ($(NOTEBOOKS),)
	@echo "There are no notebooks yet."
else
	$(PYTEST) --nbmake --nbmake-timeout=600 $(NOTEBOOKS)
endif

changelog: $(READY) ## Gather the changes told in changes/ into CHANGELOG.md
	$(BIN)/python tools/changelog.py

release: $(READY) ## Build wheel and sdist; try the wheel with the oldest and the newest dependencies
	$(BIN)/python tools/release.py

wheel: $(READY) ## Build the wheel, and one for this Python and numba that holds compiled kernels, in dist
	$(BIN)/python tools/wheel.py

docs: $(READY) ## Build the documentation site in build/docs; a warning is an error
	$(BIN)/python -m sphinx -W -n --keep-going -q -b html docs build/docs

pictures: $(READY) ## Draw the documentation's pictures anew, byte for byte
	$(BIN)/python docs/make_images.py

clean: ## Remove what the other targets made, the environment excepted
	rm -rf build dist out demo-report htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache \
	  .import_linter_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
