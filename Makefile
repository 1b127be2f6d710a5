# The front door.  Every target does its own set-up; `make help` lists them.
SHELL := /bin/bash
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
SCALE ?= quick
UPDATES ?= 20000
PRESETS := release debug clang asan tsan

.DEFAULT_GOAL := build
.PHONY: build demo test docs test-browser $(PRESETS) format check-format check-scripts check-tidy check-rules check-kernels gpu-tests test-gpu fuzz fuzz-bundle torture bench paper bundle wheel wheel-old test-wheel-old test-wheel test-sdist install uninstall clean help

build: ## build the library and the command into build/
	@scripts/setup.sh build
	@scripts/build.sh release $(JOBS)

demo: ## simulate, train (UPDATES, 20000), run free, measure, draw, report
	@scripts/setup.sh build plot
	@scripts/setup.sh report || true
	@scripts/build.sh release $(JOBS)
	@scripts/demo.sh build/antler $(UPDATES)

test: ## build and run all tests
	@scripts/setup.sh build test
	@scripts/build.sh release $(JOBS)
	@scripts/check_rules.sh build
	@scripts/test.sh release $(JOBS)

docs: build ## the site in build/docs/html, with its pictures and the executed notebook; warnings are errors
	@scripts/setup.sh docs
	@scripts/docs.sh build

test-browser: build ## open the report in headless Chromium
	@scripts/test_browser.sh build

asan tsan clang debug: build ## the tests with sanitizers, another compiler, or for a debugger; pictures need the library of `build`
	@scripts/setup.sh build test clang
	@scripts/test.sh $@ $(JOBS)

fuzz: ## run every fuzzer for FUZZ_SECONDS (60) of CPU time
	@scripts/setup.sh build clang
	@scripts/fuzz.sh $(FUZZ_SECONDS)

fuzz-bundle: ## build/fuzz-bundle: a folder with all fuzzers, to be carried to a machine with many cores
	@scripts/setup.sh build clang bundle
	@JOBS=$(JOBS) scripts/fuzz_bundle.sh build

format: ## clang-format all sources in place
	@scripts/setup.sh format
	@scripts/format.sh

check-format: ## fail when clang-format would change a source
	@scripts/setup.sh format
	@scripts/format.sh --check

check-scripts: ## shellcheck, ruff and mypy over scripts and the Python package
	@scripts/setup.sh lint
	@scripts/lint.sh

check-tidy: ## clang-tidy with the short list of .clang-tidy
	@scripts/setup.sh build test clang tidy
	@JOBS=$(JOBS) scripts/tidy.sh

check-rules: build ## dependency rules, exported symbols, headers that stand alone
	@scripts/check_rules.sh build

check-kernels: build ## compile every GPU kernel for sm_80, sm_90 and sm_120; needs no GPU
	@scripts/setup.sh build test
	@scripts/check_kernels.sh build

gpu-tests: ## build/gpu-tests: a folder with all GPU tests, to be carried to a machine with a GPU
	@scripts/setup.sh build test bundle
	@scripts/build.sh release $(JOBS)
	@scripts/gpu_tests.sh build

test-gpu: gpu-tests ## the tests that need a GPU, also under compute-sanitizer
	@scripts/test_gpu.sh

torture: ## every failing call, kill and power cut in whole commands, one after the other; hours
	@scripts/setup.sh build test
	@scripts/build.sh release $(JOBS)
	@scripts/torture.sh build

bench: ## benchmarks, beside NumPy in the same run
	@scripts/setup.sh build bench
	@scripts/build.sh release $(JOBS)
	@bench/run.sh

paper: ## the figures of the paper and their page, piece by piece; SCALE=full on a GPU, ARGUMENTS="1b 2 --minutes 20"
	@scripts/setup.sh build plot
	@scripts/build.sh release $(JOBS)
	@experiments/paper/run.sh --scale $(SCALE) $(ARGUMENTS)

bundle: build ## a tarball that runs on any Linux with glibc 2.36 or newer
	@scripts/setup.sh bundle
	@scripts/bundle.sh build

wheel: ## a Python wheel for systems as new as this one, which needs no compiler there: build/wheel/
	@scripts/setup.sh build wheel
	@JOBS=$(JOBS) scripts/wheel.sh

wheel-old: ## the wheel for older systems, glibc 2.28 and newer (manylinux_2_28): build/wheel-old/
	@scripts/setup.sh build wheel-old
	@JOBS=$(JOBS) scripts/wheel_old.sh

test-wheel-old: wheel-old ## install that one into a fresh environment and run the package's tests there
	@scripts/test_wheel.sh --old

test-wheel: wheel ## install the wheel into a fresh environment and run the package's tests there
	@scripts/test_wheel.sh

test-sdist: wheel ## build the source distribution in a fresh environment and run the package's tests there
	@scripts/test_wheel.sh --sdist

install: build ## install under PREFIX (/usr/local); DESTDIR is honoured
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

clean: ## remove everything that was built
	@rm -rf build

help: ## this list
	@grep -hE '^[a-z][a-z -]*:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 28
