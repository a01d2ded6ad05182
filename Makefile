# make demo | test | bench: each sets up .venv first and is quick the second time.
# `make` alone lists the rest.
RUN := .venv/bin
READY := .venv/.ready
SLIM := .venv/.slim
# The address of the project: the pages of a registry lead there. Empty until there is one.
REPOSITORY ?=

# Tests start groupcheck hundreds of times, and each start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test browser browser-docs lint ruff types pytest format bench \
	bench-assignors bench-first-minute bench-kernels bench-replay bench-spark bench-walks nightly pythons \
	release docs site clean mutants-engine mutants-protocol

help:
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1 - \2/p' Makefile

setup: $(READY) ## .venv with the pinned requirements (PYTHON=python3.12 chooses the interpreter)

$(READY): requirements.txt pyproject.toml .ci/setup
	@.ci/setup $(PYTHON)
	@touch $(SLIM) $@

$(SLIM): requirements-slim.txt pyproject.toml .ci/setup
	@.ci/setup --slim $(PYTHON)
	@touch $@

demo: $(SLIM) ## a proof, a seeded mistake with its counterexample, a real log explained
	@.ci/demo

# mypy has one thread: where it ran alone, the other processors would wait for it.
test: ruff ## lint and pytest, side by side
	@$(MAKE) --no-print-directory --keep-going --jobs=2 types pytest || \
	{ echo "make lint or pytest fails: 'Error' above says which" >&2; exit 1; }

lint: ruff types ## ruff, mypy --strict, import contracts

ruff: $(READY)
	@$(RUN)/ruff check --quiet .
	@$(RUN)/ruff format --check --quiet .

types: $(READY)
	@$(RUN)/mypy --no-error-summary
	@$(RUN)/lint-imports > .venv/imports.txt || { cat .venv/imports.txt; exit 1; }

# In the order of the folders, which ends with many short files: nobody waits for a long one.
pytest: $(READY)
	@$(RUN)/pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

browser: $(READY) ## the pages of replay and explore, looked at in a headless Chromium; a minute
	@$(RUN)/pytest tests/browser/look_at_replay.py tests/browser/look_at_explore.py

browser-docs: site ## the site that `make site` builds, looked at in the same way; two minutes
	@$(RUN)/pytest tests/browser/look_at_site.py tests/browser/look_at_keeping.py \
		tests/browser/look_at_try.py

bench: $(READY) ## speed and memory beside Spin and C; 10 minutes (BENCH=--quick: less)
	@.ci/need "make bench" gcc spin
	@$(RUN)/python tests/bench/bench.py $(BENCH)

bench-assignors: $(READY) ## assignors and questions about balance beside obvious versions; a minute
	@$(RUN)/python tests/bench/bench_assignors.py $(BENCH)

bench-replay: $(READY) ## `replay` of logs of 20 MB beside a loop over their lines; three minutes
	@$(RUN)/python tests/bench/bench_replay.py $(BENCH)

bench-first-minute: $(READY) ## the first minute of a new user, fresh caches; 3 minutes (BENCH=--clone: more)
	@$(RUN)/python tests/bench/bench_first_minute.py $(BENCH)

bench-kernels: $(READY) ## object code of a wheel beside that for this processor; two minutes
	@$(RUN)/python tests/bench/bench_kernels.py

bench-walks: $(READY) ## random walks beside breadth-first search on known bugs; 10 minutes
	@$(RUN)/python tests/bench/bench_walks.py $(BENCH)

bench-spark: $(READY) ## one search in one process and over Spark, side by side; 5 minutes
	@$(RUN)/python tests/bench/bench_spark.py $(BENCH)

nightly: $(READY) ## what takes hours, step by step; a stopped run goes on (NIGHTLY="--list")
	@$(RUN)/python -m venv .venv/nightly
	@.venv/nightly/bin/python -m pip --quiet --disable-pip-version-check install \
		--require-hashes -r requirements-nightly.txt
	@$(RUN)/python tests/nightly/nightly.py $(NIGHTLY)

# tox looks for interpreters on the PATH alone, and those of pyenv are there only one at a time.
pythons: $(READY) ## the wheel and quick tests on each Python that is here (PYTHONS="-e 3.13")
	@$(RUN)/python -m venv .venv/pythons
	@.venv/pythons/bin/python -m pip --quiet --disable-pip-version-check install \
		--require-hashes -r requirements-pythons.txt
	@PATH="$$PATH:$$(printf '%s:' $${PYENV_ROOT:-$$HOME/.pyenv}/versions/*/bin)" \
		.venv/pythons/bin/tox run $(PYTHONS)

release: $(SLIM) ## a wheel and what belongs to it in build/release (REPOSITORY=https://...)
	@.ci/release $(REPOSITORY)

mutants-engine: $(READY) ## the tests against changes of tokens; hours (MUTANTS="--sample 60")
	@$(RUN)/python tests/mutants/mutants.py engine $(MUTANTS)

mutants-protocol: $(READY) ## conform against mistakes in the model; hours (MUTANTS="--sample 60")
	@$(RUN)/python tests/mutants/protocol.py $(MUTANTS)

docs: .venv/.docs ## the site in build/site: pages, and the reference from the code
	@$(RUN)/python docs/generate/assemble.py build/docs
	@NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict
	@echo "build/site/index.html"

site: docs ## the site with try/: groupcheck in a browser tab; needs node and npm
	@.ci/need "make site" node npm
	@$(RUN)/python docs/generate/try_it.py build/site
	@echo "python -m http.server --directory build/site; then http://localhost:8000/try/"

.venv/.docs: $(READY) requirements-docs.txt
	@$(RUN)/python -m pip --quiet --disable-pip-version-check install \
		--require-hashes -r requirements-docs.txt
	@touch $@

format: $(READY) ## ruff format, and what ruff can mend
	@$(RUN)/ruff format --quiet .
	@$(RUN)/ruff check --fix .

clean: ## everything that make made
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@rm -rf build dist src/*.egg-info
	@find . -name __pycache__ -prune -exec rm -rf {} +
