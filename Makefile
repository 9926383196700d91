# Every target prepares what it needs in an environment of its own, .venv/TARGET, that holds its extras and nothing else.
# The machine only has to have Python 3.11 or newer.  A second call finds the environment of the first and starts at once.

# Which extras of pyproject.toml are in which environment.
EXTRAS_demo  := sklearn,report
EXTRAS_test  := test
EXTRAS_slow  := test,build,paper,peers,ray,mlflow,tensorboard,wandb
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
.PHONY: help demo test test-slow lint bench docs docs-images paper clean

help:
	@echo "make demo         tune a random forest and see why it stops (1 minute)"
	@echo "make test         run the tests, with coverage of the core packages (5 minutes on two cores)"
	@echo "make test-slow    run the slow tests and those that need torch or Ray (installs both)"
	@echo "make lint         check style, types and the direction of imports"
	@echo "make bench        measure decision time, how close to optimal the policies are, and (with DATA=FOLDER) other tuners"
	@echo "make docs         build the documentation into site/"
	@echo "make docs-images  redraw docs/img from a real tuning, with Chromium"
	@echo "make paper        replay the paper's experiments from recorded tables into docs/paper.md"
	@echo "make clean        remove everything these targets created"

demo: .venv/demo/.installed
	.venv/demo/bin/autobct demo

test: .venv/test/.installed
	@$(ONE_THREAD) .venv/test/bin/python -m tools.run_tests

test-slow: .venv/slow/.installed
	@$(ONE_THREAD) .venv/slow/bin/python -m tools.run_tests --slow

lint: .venv/lint/.installed
	.venv/lint/bin/ruff check .
	.venv/lint/bin/ruff format --check .
	.venv/lint/bin/mypy
	.venv/lint/bin/lint-imports

bench: .venv/bench/.installed
	.venv/bench/bin/python benchmarks/speed.py --write
	.venv/bench/bin/python benchmarks/dimensions.py --write
	.venv/bench/bin/python benchmarks/optimality.py --write
	@if [ -n "$(DATA)" ]; then echo ".venv/bench/bin/python benchmarks/peers.py --write"; \
	    .venv/bench/bin/python benchmarks/peers.py --seeds 3 --workers 2 --write --data "$(DATA)"; \
	else echo "The comparison with other tuners needs data: run make bench DATA=FOLDER, or set AUTOBCT_DATA; see docs/peers.md"; fi

docs: .venv/docs/.installed
	.venv/docs/bin/mkdocs build --strict --quiet

paper: .venv/demo/.installed
	$(ONE_THREAD) .venv/demo/bin/python -m tools.paper_page

docs-images: .venv/demo/.installed
	$(ONE_THREAD) .venv/demo/bin/python -m tools.docs_images

# Made from nothing, so that it holds what its extras bring and not what some other target once needed.
.venv/%/.installed: pyproject.toml constraints.txt
	@for python in $(PYTHONS); do \
	    if "$$python" -c '$(FITS)' >/dev/null 2>&1; then \
	        echo "Making .venv/$* with $$("$$python" --version) and autobct[$(EXTRAS_$*)]; this happens once."; \
	        "$$python" -m venv --clear .venv/$* || exit 1; \
	        .venv/$*/bin/python -m pip --disable-pip-version-check install -qq -c constraints.txt -e '.[$(EXTRAS_$*)]' || exit 1; \
	        touch $@; exit; \
	    fi; \
	done; \
	echo "No Python 3.11 or newer with its venv module was found (tried: $(PYTHONS)); install one, or run make PYTHON=/path/to/python." >&2; \
	exit 1

clean:
	rm -rf .venv .venv-peers build dist site htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf autobct-demo*
	find src tests tools benchmarks experiments -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
