# Every target prepares what it needs in .venv; the machine only has to have Python 3.11 or newer.
# A second call finds the stamps of the first and starts at once.

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check install -qq -c constraints.txt

# Which extras of pyproject.toml a target needs.
EXTRAS_demo  := sklearn,report
EXTRAS_test  := test
EXTRAS_lint  := lint,all
EXTRAS_bench := bench,report,peers
EXTRAS_docs  := docs

# The first of these that runs, is new enough and can make an environment; or say PYTHON=...
PYTHON  ?=
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)
FITS    := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

# The folder with the published tuning tasks, for the comparison with other tuners; it is not part of the project.
DATA ?= $(AUTOBCT_DATA)

ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test lint bench docs docs-images paper clean

help:
	@echo "make demo    tune a real random forest and watch why it stops"
	@echo "make test    run the tests, with the coverage of the core rooms"
	@echo "make lint    check style, types and the direction of imports"
	@echo "make bench   measure the time of a decision, how close to optimal the policies are, and (DATA=FOLDER) other tuners"
	@echo "make docs    build the documentation into site/"
	@echo "make docs-images  draw docs/img anew, with a real tuning and Chromium"
	@echo "make paper   play the paper's experiments from their recorded tables into docs/paper.md"
	@echo "make clean   remove everything these targets have made"

demo: $(VENV)/.stamp-demo
	$(BIN)/autobct demo

test: $(VENV)/.stamp-test
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --cov --cov-report=term --cov-fail-under=95

lint: $(VENV)/.stamp-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.stamp-bench
	$(BIN)/python benchmarks/speed.py --write
	$(BIN)/python benchmarks/dimensions.py --write
	$(BIN)/python benchmarks/optimality.py --write
	@if [ -n "$(DATA)" ]; then echo "$(BIN)/python benchmarks/peers.py --write"; \
	    $(BIN)/python benchmarks/peers.py --seeds 3 --workers 2 --write --data "$(DATA)"; \
	else echo "The comparison with other tuners needs data: say make bench DATA=FOLDER, or set AUTOBCT_DATA; see docs/peers.md"; fi

docs: $(VENV)/.stamp-docs
	$(BIN)/mkdocs build --strict --quiet

paper: $(VENV)/.stamp-demo
	$(ONE_THREAD) $(BIN)/python -m tools.paper_page

docs-images: $(VENV)/.stamp-demo
	$(ONE_THREAD) $(BIN)/python -m tools.docs_images

$(VENV)/.stamp-venv:
	@for python in $(PYTHONS); do \
	    if "$$python" -c '$(FITS)' >/dev/null 2>&1; then \
	        echo "making $(VENV) with $$("$$python" --version)"; \
	        "$$python" -m venv --clear $(VENV) && touch $@; exit; \
	    fi; \
	done; \
	echo "No Python 3.11 or newer with its venv module was found (tried: $(PYTHONS)); install one, or say make PYTHON=/path/to/python." >&2; \
	exit 1

$(VENV)/.stamp-%: $(VENV)/.stamp-venv pyproject.toml constraints.txt
	@echo "installing autobct[$(EXTRAS_$*)] into $(VENV)"
	@$(PIP) -e '.[$(EXTRAS_$*)]'
	@touch $@

clean:
	rm -rf $(VENV) .venv-peers build dist site htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf autobct-demo*
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
