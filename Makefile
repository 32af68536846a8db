# A thin front door: each target is one or two commands, which can be run by themselves as well.

PREFIX ?= /usr/local
BUILD := build/release

.DEFAULT_GOAL := help
.PHONY: help build product demo bench bench-full seeds test check rules claims format tidy install clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## build the library and the snug command into build/release
	@cmake --preset release
	@cmake --build --preset release

product:
	@cmake --preset release
	@cmake --build --preset release --target product

demo: ## install what is missing, build, and compare snug with other allocators on real programs
	@scripts/setup build demo
	@$(MAKE) --no-print-directory product
	@scripts/demo

bench: ## install what is missing, build, get the peers, and compare them on a part of the loads; ends with a page and a sentence
	@scripts/setup build bench
	@cmake --preset release
	@cmake --build --preset release --target benchmark
	@scripts/uv run --quiet --locked --project bench snug-bench run --grid quick

bench-full: ## the same with every load and allocator, six times: about two hours
	@scripts/setup build bench
	@cmake --preset release
	@cmake --build --preset release --target benchmark
	@scripts/uv run --quiet --locked --project bench snug-bench run --grid full

seeds: ## install what is missing, build, and regenerate the source documents' tables beside today's peers: minutes
	@scripts/setup build bench
	@$(MAKE) --no-print-directory build
	@scripts/uv run --quiet --locked --project bench snug-seeds

test: ## install what is missing, build, run every test and check
	@scripts/setup build test
	@scripts/run_tests release
	@$(MAKE) --no-print-directory rules
	@echo "make test: ok: tests $$(cat $(BUILD)/summary.txt); layers, headers and symbols hold"

check: build rules ## prove the rules of the house: layers, headers alone, symbols

rules:
	@scripts/check_layers
	@scripts/check_headers
	@scripts/check_symbols $(BUILD)

claims: build ## show that every figure of the documentation still holds
	@scripts/claims

format: ## lay out every C and C++ file by .clang-format
	@scripts/format

tidy: build ## run clang-tidy over src/ and tools/
	@scripts/tidy $(BUILD)

install: product ## install under PREFIX (/usr/local); DESTDIR is kept
	@cmake --install $(BUILD) --prefix "$(PREFIX)"

clean: ## remove build/
	@rm -rf build
