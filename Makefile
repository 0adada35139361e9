# Everything installs into benchmarks/.venv and benchmarks/.tools; nothing is written elsewhere.

BIN := .venv/bin
# Four for two cores, since half of the time is spent waiting for limits; each one more collects all tests once more.
PYTEST_WORKERS ?= 4
# A file's tests go to one worker, which sets up what they share once; in the order of the rooms, so that no long file comes last.
# What pytest makes of the tests is kept, also where PYTHONDONTWRITEBYTECODE is set, as in many images: that takes it 15 seconds.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n $(PYTEST_WORKERS) --dist loadfile --no-loadscope-reorder
EXAMPLE := swe-benchmark-data/example

.DEFAULT_GOAL := help
.PHONY: help setup demo example test test-rest test-all perf lint types check docs clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r target text; do \
		printf 'make %-12s %s\n' "$$target" "$$text"; done

setup: ## install what the project needs (silent when there is nothing to do)
	@benchmarks/scripts/setup.sh

demo: setup ## run the quickstart dataset end to end: real agent, scripted model, no key, no cost
	@cd benchmarks && $(BIN)/swetrials e2e --provider rehearsal --model rehearsal --dataset dataset/quickstart.yaml --yes

example: setup ## run the worked example again, whose results are committed (reads a public repository)
	@cd benchmarks && rm -rf $(EXAMPLE) && mkdir -p $(EXAMPLE) && touch $(EXAMPLE)/.apart && for dataset in quickstart hello-world; do \
		$(BIN)/swetrials e2e --provider rehearsal --model rehearsal --dataset dataset/$$dataset.yaml --yes \
			--output-dir $(EXAMPLE) --clone-dir /tmp/swetrials-example || exit; done

test: setup ## run every quick test, and each kind of thing once for real (under 4 minutes)
	@cd benchmarks && $(PYTEST) --hypothesis-profile quick -m "not slow or once"

# Properties, which Hypothesis marks by its name, are tried again, on more examples.
test-rest: setup ## run what `make test` leaves out: all agents, all faults, all kills, downloads, more examples
	@cd benchmarks && $(PYTEST) -m "slow and not once or hypothesis"

test-all: test test-rest ## run the whole test suite

perf: setup ## measure what the parts cost that every trial pays for (minutes; wants a quiet machine)
	@cd benchmarks && $(BIN)/python perf

lint: setup ## check style and layout
	@cd benchmarks && $(BIN)/ruff check src tests examples scripts perf && $(BIN)/ruff format --check src tests examples scripts perf

types: setup ## check types
	@cd benchmarks && $(BIN)/mypy

check: lint types test-all ## everything that has to pass before a change is proposed

docs: setup ## write what is generated: docs/schemas, docs/models.md, the flags of the configuration
	@cd benchmarks && $(BIN)/swetrials schemas --out ../docs/schemas && $(BIN)/swetrials serve catalogue --out ../docs/models.md && $(BIN)/python -m swetrials.cli.config_flags

clean: ## remove what setup and the checks made; results stay
	@cd benchmarks && rm -rf .venv .tools .pytest_cache .mypy_cache .ruff_cache .hypothesis
