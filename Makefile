# make demo      watch a real classifier for half a year; the result stays in ./demo
# make test      run the fast tests, in minutes: every feature, on SQLite, with a real MLflow server
# make test-lowest  run a part of them with the oldest versions that pyproject.toml allows (3 minutes)
# make test-all  run all tests: those, and PostgreSQL, faults, simulations and what is slow
# make label-studio  install Label Studio, a gigabyte, for its tests: into .label-studio (1 minute)
# make s3-server  install moto, which speaks S3, for the tests of lakes: into .s3-server (1 minute)
# make deploy-tools  install the schemas of Kubernetes and of Databricks' bundles: into .deploy-tools (seconds)
# make orchestrators  install Airflow and Dagster for the tests of deploy/: into .airflow and .dagster (2 minutes)
# make soak      kill, cut off and starve it thousands of times (three hours)
# make check     run all other checks: format, lint, types, layers, locks, wheel, ...
# make docs      build the documentation, without the network: build/site/index.html (seconds)
# make docs-serve  show it at http://127.0.0.1:8000 while you write
# make sbom      list what is installed with it, by the lock: dist/sbom.cdx.json (CycloneDX)
# make audit     ask for known weaknesses of what the lock installs (needs the network)
# make mutants   change monitor/stats in thousands of ways and see which no test notices (hours);
#                SAMPLE=400 SEED=1 takes that many at random (an hour or two)
# make wheel     build the wheel into dist, for deploy/Dockerfile
# make release   build wheel and sdist into dist and check their metadata (docs/project/releasing.md)
# make lock      write the locks anew (needs uv); LOCK_FLAGS=--upgrade takes newer versions
# make clean     remove what these made
#
# Tests run in two processes; make test WORKERS=8 takes more. PYTEST_FLAGS="-k restore" chooses.
# Each sets up ./.venv by itself: once, and again when a lock or pyproject.toml has changed.

VENV := .venv
BIN := $(VENV)/bin
STATS_VENV := $(VENV)/stats
AUDIT_VENV := $(VENV)/audit
LOWEST_VENV := $(VENV)/lowest
ENVIRONMENTS := airflow dagster deploy-tools label-studio s3-server
# What is never imported is never compiled; the rest is, once, by who imports it first.
PIP := python -m pip --disable-pip-version-check install --quiet --no-compile
PYTHONS := python3.13 python3.12 python3.11 python3 python
OLD_ENOUGH := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

.DEFAULT_GOAL := help
.PHONY: help demo test test-lowest test-all test-thorough label-studio s3-server deploy-tools orchestrators soak check format lint types layers stats-alone \
	lock-check wheel release wheel-check sbom audit docs docs-serve mutants lock clean

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

demo: $(VENV)/.ready
	$(BIN)/pr-monitor demo

# Tests start thousands of processes, and each would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

# Which test is thorough, and which share a process, is decided in tests/tiers.py.
WORKERS ?= 2
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -rs

test: $(VENV)/.ready-dev
	$(PYTEST) -m "not thorough" $(PYTEST_FLAGS)

# What touches each library: the config, the store, MLflow, files, statistics, pages, commands.
LOWEST_TESTS = tests/cli/test_bad_arguments.py tests/cli/test_commands.py tests/cli/commands/test_effects.py \
	tests/cli/test_output.py tests/cli/test_restate.py tests/config tests/evaluation \
	tests/hooks tests/labeling tests/plugins/evaluator tests/plugins/hooks tests/plugins/lake \
	tests/service/pages/test_door.py \
	tests/service/web tests/sources/test_duckdb.py tests/sources/test_duckdb_times.py tests/sources/sql \
	tests/stats tests/storage tests/tracking

# Older libraries use what newer ones of theirs call deprecated.
test-lowest: $(LOWEST_VENV)/.ready
	$(LOWEST_VENV)/bin/python -m pytest -n $(WORKERS) --dist loadgroup -rs -m "not thorough" \
		-W default::DeprecationWarning $(PYTEST_FLAGS) $(LOWEST_TESTS)

test-all: test test-thorough

test-thorough: $(VENV)/.ready-dev
	$(PYTEST) -m thorough $(PYTEST_FLAGS)

# Tests of these are thorough ones, and are skipped without them. Each has an environment of its own,
# by a lock in tests/environments, since their libraries want other versions than ours.
label-studio: .label-studio/.ready

s3-server: .s3-server/.ready

deploy-tools: .deploy-tools/.ready

orchestrators: .airflow/.ready .dagster/.ready

soak: $(VENV)/.ready-dev
	SOAK=1 $(BIN)/python -m pytest -m soak $(PYTEST_FLAGS)

check: format lint types layers stats-alone lock-check wheel-check sbom docs
	@echo "all checks passed"

format: $(VENV)/.ready-dev
	$(BIN)/ruff format --check .

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .

types: $(VENV)/.ready-dev
	$(BIN)/mypy

layers: $(VENV)/.ready-dev
	$(BIN)/lint-imports --no-logo

# monitor.stats has to work where neither pandas nor MLflow is installed; `make test` runs its tests.
stats-alone: $(STATS_VENV)/.ready
	@for name in pandas mlflow sqlalchemy; do \
		! $(STATS_VENV)/bin/python -c "import $$name" 2>/dev/null || exit 1; done
	PYTHONPATH=. $(STATS_VENV)/bin/python .ci/import_stats.py

lock-check: $(VENV)/.ready-dev
	@! grep -nE '://|--(extra-)?index|--find-links|--trusted-host' requirements/*.lock tests/environments/*.lock
	$(BIN)/python -m pip --disable-pip-version-check check

# One wheel and no older ones: deploy/Dockerfile takes whatever is there.
wheel: $(VENV)/.ready-dev
	@rm -f dist/*.whl
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .

# Each build of a commit gives the same files: their times are the commit's.
release: $(VENV)/.ready-dev $(AUDIT_VENV)/.ready
	@rm -f dist/*.whl dist/*.tar.gz
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --no-isolation --outdir dist .
	$(AUDIT_VENV)/bin/twine check --strict dist/*.whl dist/*.tar.gz
	sha256sum dist/*.whl dist/*.tar.gz

wheel-check: $(VENV)/.ready-dev $(AUDIT_VENV)/.ready
	.ci/check-wheel $(BIN)/python $(AUDIT_VENV)/bin/twine

# A warning fails it: a link that leads nowhere, a page that no menu has.
MKDOCS = PYTHONPATH=. NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs

docs: $(VENV)/.ready-dev
	$(MKDOCS) build --strict

docs-serve: $(VENV)/.ready-dev
	$(MKDOCS) serve --dev-addr 127.0.0.1:8000

# What a release ships with: every package of the lock with its version and hashes.
sbom: $(AUDIT_VENV)/.ready
	@mkdir -p dist
	$(AUDIT_VENV)/bin/cyclonedx-py requirements --pyproject pyproject.toml --mc-type application \
		--spec-version 1.6 --output-reproducible --of JSON -o dist/sbom.cdx.json requirements/runtime.lock
	$(AUDIT_VENV)/bin/python .ci/check_sbom.py dist/sbom.cdx.json requirements/runtime.lock

# Not part of `check`: whether it passes depends on what was found out since, and on the network.
# A package that could not be looked up fails it, as does a service that cannot be reached.
audit: $(AUDIT_VENV)/.ready
	$(AUDIT_VENV)/bin/pip-audit --strict --require-hashes --disable-pip -r requirements/runtime.lock

$(BIN)/python:
	@for python in $(PYTHONS); do \
		if $$python -c '$(OLD_ENOUGH)' 2>/dev/null; then \
			echo "making $(VENV) with $$($$python --version)"; \
			$$python -m venv $(VENV) && exit 0; \
			rm -rf $(VENV); exit 1; \
		fi; \
	done; \
	echo "Python 3.11 or newer with its venv module is needed, and none of these is: $(PYTHONS)." >&2; \
	echo "Install it (Debian: apt install python3 python3-venv) and run make again." >&2; \
	exit 1

$(VENV)/.ready: requirements/runtime.lock pyproject.toml | $(BIN)/python
	@echo "installing into $(VENV); this takes a few minutes the first time"
	@$(BIN)/$(PIP) --require-hashes -r requirements/runtime.lock
	@$(BIN)/$(PIP) --no-deps --editable .
	@touch $@

# The lock for development holds all of the other as well, so one installation serves both.
$(VENV)/.ready-dev: requirements/dev.lock requirements/runtime.lock pyproject.toml | $(BIN)/python
	@echo "installing the package and what tests and checks need into $(VENV); this takes minutes"
	@$(BIN)/$(PIP) --require-hashes -r requirements/dev.lock
	@$(BIN)/$(PIP) --no-deps --editable .
	@touch $(VENV)/.ready $@

$(STATS_VENV)/.ready: requirements/stats.lock | $(BIN)/python
	@$(BIN)/python -m venv $(STATS_VENV)
	@$(STATS_VENV)/bin/$(PIP) --require-hashes -r requirements/stats.lock
	@touch $@

# With the oldest Python as well: newer ones have no wheels of the oldest numpy and pandas.
$(LOWEST_VENV)/.ready: requirements/lowest.lock | $(BIN)/python
	@rm -rf $(LOWEST_VENV)
	@python3.11 -m venv $(LOWEST_VENV) || { echo "test-lowest needs python3.11" >&2; exit 1; }
	@$(LOWEST_VENV)/bin/$(PIP) --require-hashes -r requirements/lowest.lock
	@$(LOWEST_VENV)/bin/$(PIP) --no-deps --editable .
	@touch $@

$(ENVIRONMENTS:%=.%/.ready): .%/.ready: tests/environments/%.lock | $(BIN)/python
	@rm -rf .$*
	@$(BIN)/python -m venv .$*
	@.$*/bin/$(PIP) --require-hashes -r $<
	@touch $@

$(AUDIT_VENV)/.ready: requirements/audit.lock | $(BIN)/python
	@$(BIN)/python -m venv $(AUDIT_VENV)
	@$(AUDIT_VENV)/bin/$(PIP) --require-hashes -r requirements/audit.lock
	@touch $@

# uv's own defaults, whatever index this machine is set up to use, and no index in the output.
COMPILE := env -u UV_INDEX -u UV_DEFAULT_INDEX -u UV_INDEX_URL -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS \
	uv pip compile --no-config --python-version 3.11 \
	--generate-hashes --no-strip-extras --no-emit-index-url --custom-compile-command "make lock" --quiet $(LOCK_FLAGS)
LOCK := $(COMPILE) --universal --fork-strategy fewest

# What the container image of deploy/Dockerfile has beside our own packages.
IMAGE_EXTRAS := apprise delta iceberg mysql postgres serve xlsx
EXTRAS := $(IMAGE_EXTRAS:%=--extra %)

lock: | $(BIN)/python
	$(LOCK) pyproject.toml --output-file requirements/runtime.lock
	$(LOCK) pyproject.toml $(EXTRAS) --group dev --constraint requirements/runtime.lock \
		--output-file requirements/dev.lock
	$(LOCK) --group stats --constraint requirements/dev.lock --output-file requirements/stats.lock
	$(LOCK) --group audit --output-file requirements/audit.lock
	$(LOCK) pyproject.toml $(EXTRAS) --constraint requirements/dev.lock \
		--output-file requirements/image.lock
	@mkdir -p build # the floors of pyproject.toml, and the newest of all else that goes with them
	$(COMPILE) pyproject.toml $(EXTRAS) --resolution lowest-direct --output-file build/floors.txt
	$(COMPILE) pyproject.toml $(EXTRAS) --group test --constraint build/floors.txt \
		--output-file requirements/lowest.lock
	@for name in $(ENVIRONMENTS); do $(LOCK) tests/environments/$$name.in \
		--output-file tests/environments/$$name.lock || exit 1; done
	$(BIN)/python .ci/lock_bases.py requirements/*.lock tests/environments/*.lock

mutants: $(VENV)/.ready-dev
	@$(BIN)/$(PIP) "mutmut>=3.8"
	$(if $(SAMPLE),$(BIN)/python .ci/mutants.py --sample $(SAMPLE) --seed $(or $(SEED),1), \
		$(BIN)/mutmut run $(MUTANTS))

clean:
	rm -rf $(VENV) $(ENVIRONMENTS:%=.%) build dist .mypy_cache .pytest_cache .ruff_cache \
		.import_linter_cache .hypothesis mutants
