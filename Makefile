# Commands people type: make demo, test, check, docs, lab, bench. CI types the same.
# Before a release: make test-lowest and make dist.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest

.PHONY: demo test test-lowest check docs lab bench dist clean

demo: $(VENV)/.demo
	$(BIN)/tacit demo --out out/demo

# Two test processes share two cores: one thread each for linear algebra. The processes that tests
# start read the bytecode that others have written: an import takes half of the time.
test: export OPENBLAS_NUM_THREADS = 1
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.test
	$(BIN)/pytest -n 2 --dist worksteal

# The same tests with the oldest versions that pyproject.toml allows. LOWEST_TESTS names fewer.
test-lowest: export OPENBLAS_NUM_THREADS = 1
test-lowest: export PYTHONDONTWRITEBYTECODE =
test-lowest: $(LOWEST)/.test
	$(LOWEST)/bin/pytest -n 2 --dist worksteal $(LOWEST_TESTS)

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yaml
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

# What is uploaded, in dist/: tacit-dp as wheel and sources, tacit-dp-slim and tacit-lab as wheels.
dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	cd slim && ../$(BIN)/python -m hatchling build -t wheel -d ../dist
	cd lab && ../$(BIN)/python -m hatchling build -t wheel -d ../dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# One stamp per set of extras, renewed when the project file changes.
$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[files,plot]"
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

# Of the requirements that are stated here the lowest versions; of theirs the newest.
$(LOWEST)/.test: pyproject.toml lab/pyproject.toml
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	  --editable ".[test]" --editable lab
	@touch $@

clean:
	rm -rf $(VENV) $(LOWEST) out dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
