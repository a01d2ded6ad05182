# make demo | test | bench: each sets up .venv first and is quick the second time.
# `make` alone lists the rest.
RUN := .venv/bin
READY := .venv/.ready

.PHONY: help setup demo test browser lint format bench bench-assignors bench-replay bench-spark \
	nightly docs clean mutants-engine mutants-protocol

help:
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1 - \2/p' Makefile

setup: $(READY) ## .venv with the pinned requirements (PYTHON=python3.12 chooses the interpreter)

$(READY): requirements.txt pyproject.toml .ci/setup
	@.ci/setup $(PYTHON)
	@touch $@

demo: $(READY) ## a proof, a seeded mistake with its counterexample, a real log explained
	@.ci/demo

test: lint ## lint, then pytest
	@$(RUN)/pytest -n auto --maxprocesses 4 --dist loadfile

lint: $(READY) ## ruff, mypy --strict, import contracts
	@$(RUN)/ruff check --quiet .
	@$(RUN)/ruff format --check --quiet .
	@$(RUN)/mypy --no-error-summary
	@$(RUN)/lint-imports > .venv/imports.txt || { cat .venv/imports.txt; exit 1; }

browser: $(READY) ## the pages that replay writes, looked at in a headless Chromium; half a minute
	@$(RUN)/pytest tests/browser/look_at_replay.py

bench: $(READY) ## speed and memory beside Spin and C; 10 minutes (BENCH=--quick: less)
	@.ci/need "make bench" gcc spin
	@$(RUN)/python tests/bench/bench.py $(BENCH)

bench-assignors: $(READY) ## assignors and questions about balance beside obvious versions; a minute
	@$(RUN)/python tests/bench/bench_assignors.py $(BENCH)

bench-replay: $(READY) ## `replay` of logs of 20 MB beside a loop over their lines; three minutes
	@$(RUN)/python tests/bench/bench_replay.py $(BENCH)

bench-spark: $(READY) ## one search in one process and over Spark, side by side; 5 minutes
	@$(RUN)/python tests/bench/bench_spark.py $(BENCH)

nightly: $(READY) ## what takes hours: random schedules and specs, kills, limits, a flaky S3
	@$(RUN)/python tests/model/engine/judged.py 10000 2000
	@$(RUN)/python tests/model/engine/judged_progress.py 10000 500
	@$(RUN)/python tests/oracles/limited.py
	@$(RUN)/python -m venv .venv/nightly
	@.venv/nightly/bin/python -m pip --quiet --disable-pip-version-check install \
		--require-hashes -r requirements-nightly.txt
	@$(RUN)/python tests/model/engine/kills_of_drivers.py
	@$(RUN)/python tests/model/engine/flaky_s3.py .venv/nightly/bin/python
	@$(RUN)/python tests/oracles/spark/kills.py
	@$(RUN)/pytest tests/oracles/conform/test_conform_random.py --hypothesis-profile=nightly
	@$(RUN)/python tests/oracles/conform/conformed_scopes.py
	@$(RUN)/groupcheck conform classic --side member
	@$(RUN)/groupcheck conform classic --side member --kafka 4.0.0
	@$(RUN)/groupcheck conform cooperative --side member --generations 2
	@$(RUN)/groupcheck conform cooperative_static --side member --generations 2
	@$(RUN)/groupcheck conform cooperative --side member --kafka 4.0.0
	@$(RUN)/groupcheck conform triggers --side member --generations 2
	@$(RUN)/groupcheck conform triggers --side member --kafka 4.0.0
	@$(RUN)/groupcheck conform mixed_membership --side member --generations 2
	@$(RUN)/groupcheck conform cooperative_mixed --side member
	@$(RUN)/groupcheck conform twins --side member --generations 2
	@$(RUN)/groupcheck conform upgrade --side member
	@$(RUN)/groupcheck conform cooperative_rounds --side member
	@$(RUN)/groupcheck conform callbacks --side member
	@$(RUN)/groupcheck conform offsets --side member
	@$(RUN)/groupcheck conform offsets --side member --kafka 4.0.0
	@$(RUN)/groupcheck conform cooperative_callbacks --side member
	@for style in auto sync async; do for variant in static_membership static_triggers; do \
		$(RUN)/groupcheck conform $$variant --side member --set commit_style=$$style || exit 1; \
	done; done
	@for style in auto sync async; do \
		$(RUN)/groupcheck conform cooperative --side member --set commit_style=$$style \
			--set partitions=2 || exit 1; done
	@$(RUN)/groupcheck conform classic --whole --members 2 --schedules 3000 --seed 1
	@$(RUN)/groupcheck conform classic --whole --members 4 --schedules 3000 --seed 2
	@$(RUN)/groupcheck conform cooperative --whole --schedules 1000 --seed 3
	@$(RUN)/groupcheck conform static_membership --whole --schedules 1000 --seed 4
	@$(RUN)/groupcheck conform cooperative_static --whole --schedules 1000 --seed 5
	@$(RUN)/groupcheck conform connect
	@$(RUN)/python tests/oracles/connect/all_versions.py
	@$(RUN)/python tests/oracles/assignment/judged_by_contract.py
	@$(RUN)/python tests/traces/mutated_lines.py 1000000
	@$(RUN)/groupcheck bugs --real
	@$(RUN)/python tests/oracles/record/record_all.py java
	@$(RUN)/python tests/oracles/record/record_all.py kafka-python
	@.ci/need "asking assignors of other languages" go node npm
	@$(RUN)/python tests/oracles/assignment/adapters/again.py

mutants-engine: $(READY) ## the tests against changes of tokens; hours (MUTANTS="--sample 60")
	@$(RUN)/python tests/mutants/mutants.py engine $(MUTANTS)

mutants-protocol: $(READY) ## conform against mistakes in the model; hours (MUTANTS="--sample 60")
	@$(RUN)/python tests/mutants/protocol.py $(MUTANTS)

docs: .venv/.docs ## the site in build/site: pages, and the reference from the code
	@$(RUN)/python docs/generate/assemble.py build/docs
	@NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict
	@echo "build/site/index.html"

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
