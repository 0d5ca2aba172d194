# Commands people type: make demo, test, check, docs, lab, bench. CI types the same.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check docs lab bench clean

demo: $(VENV)/.demo
	$(BIN)/tacit demo --out out/demo

# Two test processes share two cores: one thread each for linear algebra. The processes that tests
# start read the bytecode that others have written: an import takes half of the time.
test: export OPENBLAS_NUM_THREADS = 1
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.test
	$(BIN)/pytest -n 2 --dist worksteal

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, in out/docs: every code block is executed, every page built without a warning, every
# internal link followed.
docs: export OPENBLAS_NUM_THREADS = 1
docs: $(VENV)/.docs
	$(BIN)/pytest docs -p no:cacheprovider
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -d out/doctrees docs out/docs
	$(BIN)/python docs/_ext/check_site.py out/docs

# The evaluation package: `tacit arena` and `tacit bench` appear once it is installed.
lab: $(VENV)/.lab

bench: $(VENV)/.test
	$(BIN)/python -m tacit_lab.benchmarks.reference
	$(BIN)/python -m tacit_lab.benchmarks.speed
	$(BIN)/python -m tacit_lab.benchmarks.columns
	$(BIN)/python -m tacit_lab.benchmarks.serving
	$(BIN)/tacit bench
	$(BIN)/pytest -m slow

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# One stamp per set of extras, renewed when the project file changes.
$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[plot]"
	@touch $@

$(VENV)/.lab: $(BIN)/python pyproject.toml lab/pyproject.toml
	$(BIN)/pip install --quiet --editable . --editable lab
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml lab/pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test]" --editable lab
	@touch $@

$(VENV)/.docs: $(BIN)/python pyproject.toml lab/pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test,docs]" --editable lab
	@touch $@

$(VENV)/.check: $(BIN)/python pyproject.toml lab/pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test,check]" --editable lab
	@touch $@

clean:
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .hypothesis
