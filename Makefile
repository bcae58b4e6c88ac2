# SPDX-License-Identifier: Apache-2.0
# make demo   set everything up and hunt the shipped bug
# make test   the whole suite, here and (its core) on every other supported Python found
# make evaluation  the papers' tables redone, docs/evaluation.md
# make bench  the benchmark table: ratios in one run
# make lint   ruff, mypy --strict, clang-format, sizes

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard native/*/*.c native/*/*.h native/*/*.s native/include/unsnarl/*.h native/packages/*) CMakeLists.txt pyproject.toml
KERNELS := $(wildcard benchmarks/native_kernels/*.[ch])
OTHERS := $(shell tools/other-pythons)

.PHONY: demo test bench lint build clean format test-others evaluation

build: $(VENV)/built

$(VENV)/built: $(NATIVE) tools/make-venv
	tools/make-venv $(PYTHON) $(VENV) build test lint
	touch $@

demo: build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/unsnarl demo

test: build lint
	$(BIN)/python -m pytest
	$(MAKE) --no-print-directory test-others

test-others:
	@printf '%s\n' $(OTHERS) | xargs -r -n 1 -P 2 tools/test-on

bench: build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m benchmarks

evaluation: build
	$(BIN)/python tools/groups.py evaluation | $(BIN)/python -m pip install --quiet --disable-pip-version-check -r /dev/stdin
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m evaluation

lint: build
	$(BIN)/ruff check src tests benchmarks evaluation tools
	$(BIN)/ruff format --check src tests benchmarks evaluation tools
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(filter %.c %.h,$(NATIVE)) $(KERNELS)
	$(BIN)/python tools/check_sizes.py

format:
	$(BIN)/ruff format src tests benchmarks evaluation tools
	$(BIN)/clang-format -i $(filter %.c %.h,$(NATIVE)) $(KERNELS)

clean:
	rm -rf .venv .venv-others build
