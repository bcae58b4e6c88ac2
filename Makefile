# SPDX-License-Identifier: Apache-2.0
# make demo   set everything up and hunt the shipped bug
# make test   the whole suite, here and (its core) on every other supported Python found
# make evaluation  the papers' tables redone, docs/evaluation.md
# make bench  the benchmark table: ratios in one run
# make test-pythons  the core on 3.14 and 3.15, in a Debian sid that is made for it (root)
# make web    the script of the HTML report, bundled into the package (npm)
# make docs   the documentation as a site, build/docs/index.html; what leads nowhere is an error
# make gallery  HTML reports of ten bugs, build/gallery/index.html
# make test-free-threaded  the core with targets in a 3.13 without the GIL, which is built for it
# make lint   ruff, mypy --strict, vulture (dead code), clang-format, sizes
# make sanitize  the C unit tests under ThreadSanitizer and valgrind

# Where this is set, every process compiles all that it imports: a third of the time of a short hunt.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
NATIVE_TESTS := $(wildcard native/tests/*.[ch])
NATIVE := $(filter-out $(NATIVE_TESTS),$(wildcard \
            $(foreach kind,c h s inc def,native/*/*.$(kind) native/*/*/*.$(kind)) native/packages/*)) \
          CMakeLists.txt pyproject.toml
KERNELS := $(wildcard benchmarks/native_kernels/*.[ch])
PAGE := src/unsnarl/reports/assets/report.js
OTHERS := $(shell tools/other-pythons $(PYTHON))
OTHER_VENVS := $(patsubst %,.venv-others/%/built,$(notdir $(OTHERS)))

.PHONY: web docs gallery demo test test-pythons test-free-threaded bench lint build clean format build-others test-native sanitize evaluation

build: $(VENV)/built $(VENV)/real/built $(VENV)/plugins/built $(VENV)/sarif.json $(PAGE)

$(VENV)/built: $(NATIVE) tools/make-venv
	tools/make-venv $(PYTHON) $(VENV) build test collect lint docs
	touch $@

# Environments of the real bugs that the tests hunt: nothing is installed while they run.
$(VENV)/real/built: evaluation/real_environments.py evaluation/real_cases.py | $(VENV)/built
	$(BIN)/python -m evaluation.real_environments
	touch $@

# Plugins of pytest that tests load beside ours.
$(VENV)/plugins/built: pyproject.toml | $(VENV)/built
	$(BIN)/python tools/groups.py plugins | $(BIN)/python -m pip install --quiet --disable-pip-version-check \
	    --no-deps --upgrade --target $(VENV)/plugins -r /dev/stdin
	touch $@

web: $(PAGE)

$(PAGE): $(wildcard web/*.json web/*.mjs web/src/*) tools/web-bundle | $(VENV)/built
	tools/web-bundle $(VENV)

# The official schema that exported SARIF is checked against.
$(VENV)/sarif.json: tools/sarif-schema | $(VENV)/built
	tools/sarif-schema $(VENV)
	touch $@

build-others: $(OTHER_VENVS)

.venv-others/%/built: $(NATIVE) tools/make-venv
	tools/make-venv $(filter %/$*,$(OTHERS)) $(@D) build test
	touch $@

demo: $(VENV)/built
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/unsnarl demo

# All that is built before all that is tested: pip uses one core, and leaves the other one to its like.
test:
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target build build-others
	tools/chromium
	tools/postgresql
	$(BIN)/python tools/suite.py $(OTHER_VENVS:/built=)

SID := $(foreach minor,14 15,.venv-others/sid-python3.$(minor))

test-pythons:
	$(foreach folder,$(SID),tools/sid-pythons 'tools/make-venv $(subst .venv-others/sid-,,$(folder)) $(folder) build test && $(folder)/bin/python -m pytest -q -n 2 -m core' &&) true

FREE := .venv-others/python3.13t
FREE_UNITS := $(foreach name,importer launcher sync catches late_modules splice rewriter rewriter_loops \
                rewriter_opcodes rewriter_property,tests/unit/test_$(name).py)

# What needs unsnarl itself runs here, with its targets there (tests/integration/interpreters.py).
test-free-threaded: build
	tools/make-venv $$(tools/free-threaded-python) $(FREE) build test
	$(FREE)/bin/python -m pytest -q -n 2 $(FREE_UNITS)
	UNSNARL_TEST_PYTHON=$(CURDIR)/$(FREE)/bin/python $(BIN)/python -m pytest -q -n 2 -m core tests/integration

# Plain, and under AddressSanitizer and UndefinedBehaviorSanitizer.
test-native: build
	PATH="$(CURDIR)/$(BIN):$$PATH" tools/native-tests plain address

sanitize: build
	PATH="$(CURDIR)/$(BIN):$$PATH" tools/native-tests thread valgrind

bench: build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m benchmarks

evaluation: build
	$(BIN)/python tools/groups.py evaluation | $(BIN)/python -m pip install --quiet --disable-pip-version-check -r /dev/stdin
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m evaluation

lint: build
	$(BIN)/ruff check src tests benchmarks evaluation tools docs
	$(BIN)/ruff format --check src tests benchmarks evaluation tools docs
	$(BIN)/mypy
	$(BIN)/vulture --min-confidence 80 src
	$(BIN)/clang-format --dry-run --Werror $(filter %.c %.h,$(NATIVE)) $(NATIVE_TESTS) $(KERNELS)
	$(BIN)/python tools/check_sizes.py

docs: build
	$(BIN)/python -m sphinx -W --keep-going -q -c docs/site -d build/doctrees . build/docs

gallery: build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m evaluation.gallery

format:
	$(BIN)/ruff format src tests benchmarks evaluation tools docs
	$(BIN)/clang-format -i $(filter %.c %.h,$(NATIVE)) $(NATIVE_TESTS) $(KERNELS)

clean:
	rm -rf .venv .venv-others build
