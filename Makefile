# Every target sets itself up: a virtual environment in .venv, made again when pyproject.toml changes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
COMMA  := ,

.PHONY: demo studio check test fuzz bounds test-thorough lint signatures wheel bench docs experiments clean

# $(call install,ENVIRONMENT,EXTRA): make the environment and put the project into it, editable.
define install
	@test -x $(1)/bin/python || $(PYTHON) -m venv $(1) || { \
	  echo "A virtual environment could not be made: on Debian, 'apt-get install python3-venv' brings what is missing."; exit 1; }
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -e ".[$(2)]"
	@touch $@
endef

$(VENV)/user: pyproject.toml
	$(call install,$(VENV),excel)
$(VENV)/studio: pyproject.toml
	$(call install,$(VENV),excel$(COMMA)studio)
$(VENV)/dev: pyproject.toml
	$(call install,$(VENV),dev)
$(VENV)/docs: pyproject.toml
	$(call install,$(VENV),docs)
# The comparison tools pin old libraries, so they live in an environment of their own.
$(VENV)-bench/bench: pyproject.toml
	$(call install,$(VENV)-bench,bench)

demo: $(VENV)/user
	@$(BIN)/python -m shoal.apps.cli.demo

# Studio with a hospital's table, in the browser.
studio: $(VENV)/studio
	@mkdir -p $(VENV)/hospital
	@$(BIN)/shoal sample patients --rows 2000 -o $(VENV)/hospital/patients.csv --force >/dev/null
	@$(BIN)/shoal studio $(VENV)/hospital/patients.csv -p $(VENV)/hospital/patients.toml

# What a contributor runs every few minutes: lint, and the quick tests of every folder.
QUICK := tests/test_house.py tests/coding tests/policy/test_policy.py tests/release/test_publish.py tests/judging/test_case.py tests/pipeline/test_pipeline.py
check: lint
	@$(BIN)/python -m pytest -n auto --dist worksteal $(QUICK) $(PYTEST)

test: $(VENV)/dev
	@$(BIN)/python -m pytest -n auto --dist worksteal --ignore-glob='*/test_spark_*' $(PYTEST)
	@$(BIN)/python -m pytest -n0 $(wildcard tests/engines/test_spark_*.py) $(PYTEST)

# All examples of every property, and the lines that no test reaches; about three times as long. Then, with every index
# checked: ten times the examples of properties about kernels, and random tables.
ABOUT_KERNELS = $(filter-out $(COMPILING),$(shell grep -l 'shoal.kernels' tests/*/test_*.py))
COMPILING := tests/kernels/test_compiled.py tests/pipeline/test_faults.py tests/kernels/test_kernel_bounds.py tests/kernels/test_preparing.py
test-thorough: $(VENV)/dev
	@$(BIN)/python -m pytest -n0 --thorough $(wildcard tests/engines/test_spark_*.py) $(PYTEST)
	@$(BIN)/python -m pytest -n auto --dist worksteal --ignore-glob='*/test_spark_*' --thorough --cov --cov-report=term:skip-covered $(PYTEST)
	@$(BIN)/python -m pytest -n auto --dist worksteal --bounds --thorough $(ABOUT_KERNELS) $(PYTEST)
	@$(BIN)/python -m tests.fuzz.bounds --tables $(TABLES) --seed $(SEED)

# Random tables, policies and formats, checked by tests/oracles/checker. One case: make fuzz SEED=7 CASE=123
# Then damaged files, policies and packs through the command line: 20,000 by INPUTS=20000.
RELEASES ?= 2000
INPUTS ?= 2000
SEED ?= 1
fuzz: $(VENV)/dev
	@$(BIN)/python -m tests.fuzz --seed $(SEED) $(if $(CASE),--case $(CASE),--releases $(RELEASES)) $(FUZZ)
ifndef CASE
	@$(BIN)/python -m tests.fuzz.bad_inputs --seed $(SEED) --cases $(INPUTS)
endif

# Random tables for every method, with every index of every kernel checked. One method: make bounds BOUNDS='--method ring'
TABLES ?= 1000
bounds: $(VENV)/dev
	@$(BIN)/python -m tests.fuzz.bounds --tables $(TABLES) --seed $(SEED) $(BOUNDS)

lint: $(VENV)/dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest -q -n0 -p no:cacheprovider tests/test_imports.py

bench: $(VENV)-bench/bench
	@.venv-bench/bin/python -m benchmarks

# The figures of the papers, and ours next to them; hours, not minutes. One alone: python -m experiments.hybrid
EXPERIMENTS := hybrid p_sensitive network presence presence_known non_homogeneous k_type linkage population_risk refinement synthetic \
	grid_labels attack_table
experiments: $(VENV)/dev
	@for name in $(EXPERIMENTS); do echo "experiments/$$name"; $(BIN)/python -m experiments.$$name || exit 1; done

# Which kernels methods call, and with which types: from this list they are compiled side by side, and for wheels.
signatures: $(VENV)/dev
	@$(BIN)/python -m tests.harness.record_kernels

# A wheel with kernels that are compiled already, for most processors and for the Python that builds it.
wheel: $(VENV)/dev
	@$(BIN)/python -m shoal.kernels.building
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@$(BIN)/python -m tests.harness.wheel dist

docs: $(VENV)/docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The documentation is in site/index.html"

clean:
	rm -rf .venv .venv-bench dist shoal/kernels/built site .mypy_cache .ruff_cache .pytest_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
