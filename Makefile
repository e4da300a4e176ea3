# Everything one does with this repository. `make` alone lists it.

# The first Python that is new enough; `make PYTHON=/path/to/python` overrides.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed
# Options for the command behind a target: make demo ARGS="--break parser:12", make test ARGS="-k rows".
ARGS ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help venv demo demo-kafka services test lint format bench truth fuzz constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(READY) ## make .venv with pinned dependencies

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "streamwitness needs Python 3.11 or newer; none found. \
	Name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "streamwitness needs Python 3.11 or \
	newer; $(PYTHON) is not one." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) has no venv module. On Debian and Ubuntu: \
	apt-get install python3-venv" >&2; exit 1; }
	@echo "Making $(VENV) (once; about a minute) …"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,test,lint]'
	@touch $@

demo: $(READY) ## broken and healthy streams on real sockets, judged (no broker needed)
	@$(BIN)/streamwitness demo $(ARGS)

demo-kafka: services ## the same through a real Kafka and PostgreSQL
	@$(BIN)/python -m tests.services run --keep -- sh -c '$(BIN)/streamwitness demo \
	--kafka "$$STREAMWITNESS_KAFKA" --database "$$STREAMWITNESS_DATABASE" $(ARGS)'

services: $(READY) ## install Kafka, PostgreSQL and promtool for the tests, where that is allowed
	@$(BIN)/python -m tests.services install

test: services ## all tests; STREAMWITNESS_REQUIRE=all makes a missing service a failure
	@$(BIN)/python -m pytest $(ARGS)

lint: $(READY) ## ruff and mypy --strict
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(READY) ## let ruff mend what it can
	@$(BIN)/ruff check --fix --exit-zero --quiet .
	@$(BIN)/ruff format .

bench: $(READY) ## ratios beside the peers, as a table and JSON
	@$(BIN)/python -m bench $(ARGS)

truth: $(READY) ## the judge against streams of which the truth is known; ARGS="--simulate N --first SEED --mutations"
	@$(BIN)/python -m bench.truth $(ARGS)

fuzz: $(READY) ## ten million mutated inputs, or twenty minutes; ARGS="--count N --seconds S --seed X"
	@$(BIN)/python -m fuzz $(ARGS)

constraints: ## renew constraints.txt: the newest of everything that pyproject.toml allows
	@rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	@build/constraints/bin/python -m pip install --quiet --upgrade '.[all,test,lint]'
	@{ echo "# Exact versions of everything in .venv. Renewed by \`make constraints\`, never by hand."; \
	build/constraints/bin/python -m pip freeze --exclude streamwitness; } > build/constraints.txt
	@mv build/constraints.txt constraints.txt && rm -rf build/constraints
	@echo "constraints.txt renewed; now run make test lint"

clean: ## remove .venv and what tools left behind (downloaded services stay in .services)
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
