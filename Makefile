# A thin front door: each target is one or two commands, which can be run by themselves as well.

PREFIX ?= /usr/local
BUILD := build/release

.DEFAULT_GOAL := help
.PHONY: help build product benchmark demo bench bench-full seeds traces test test-all check rules claims format tidy install uninstall rust deb wheel clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## install what is missing; build library, snug command and workloads into build/release
	@scripts/setup build
	@$(MAKE) --no-print-directory benchmark

# What is installed, and all but the tests: those scripts/run_tests alone configures, as they take packages of their own.
product benchmark:
	@cmake --preset release
	@cmake --build --preset release --target $@

demo: ## install what is missing, build, and compare snug with other allocators on real programs (ROUNDS=N: timed rounds, default 6)
	@echo "make demo: installs what is missing (named next), builds, and measures: roughly 10 minutes on two processors, 7 when built"
	@scripts/setup build demo
	@$(MAKE) --no-print-directory product
	@scripts/demo $(if $(ROUNDS),--rounds $(ROUNDS))

bench: ## install what is missing, build, get the peers, and compare them on a part of the loads; ends with a page and a sentence
	@scripts/setup build bench
	@$(MAKE) --no-print-directory benchmark
	@scripts/uv run --quiet --locked --project bench snug-bench run --grid quick

bench-full: ## the same with every load and allocator, six times: about two hours
	@scripts/setup build bench
	@$(MAKE) --no-print-directory benchmark
	@scripts/uv run --quiet --locked --project bench snug-bench run --grid full
	@scripts/uv run --quiet --locked --project bench snug-bench traces

seeds: ## install what is missing, build, and run the published tables of docs/seeds.md anew beside today's peers: minutes
	@scripts/setup build bench
	@$(MAKE) --no-print-directory benchmark
	@scripts/uv run --quiet --locked --project bench snug-seeds

traces: ## build, and record what real programs allocate into build/traces; tells what is not installed, installs it not
	@scripts/setup build
	@$(MAKE) --no-print-directory product
	@scripts/record_programs

test: ## install what is missing, build, run the tests that tell whether the library works (TESTS=FOLDER: all of tests/FOLDER)
	@echo "make test: installs what is missing (named next), builds, tests what a user wants to know (make test-all: everything): roughly 9 minutes on two processors, 3 when built"
	@scripts/setup build test$(if $(TESTS), test-all)
	@scripts/run_tests release $(if $(TESTS),--only $(TESTS))
	@scripts/check_symbols $(BUILD)
	@echo "make test: ok: tests $$(cat $(BUILD)/summary$(if $(TESTS),-$(subst /,-,$(TESTS))).txt); symbols hold"

test-all: ## the same with every test there is, and the rules of the house
	@scripts/setup build test test-all
	@scripts/run_tests --long release
	@$(MAKE) --no-print-directory rules
	@echo "make test-all: ok: tests $$(cat $(BUILD)/summary.txt); layers, headers and symbols hold"

check: ## prove the rules of the house: layers, words, headers alone, symbols
	@scripts/setup build check
	@$(MAKE) --no-print-directory product
	@$(MAKE) --no-print-directory rules

rules:
	@scripts/check_layers
	@scripts/check_words
	@scripts/check_headers
	@scripts/check_symbols $(BUILD)

claims: ## show that every figure of the documentation still holds
	@scripts/setup build claims
	@$(MAKE) --no-print-directory benchmark
	@scripts/claims

format: ## lay out every C and C++ file by .clang-format
	@scripts/setup format
	@scripts/format

tidy: ## run clang-tidy over src/ and tools/
	@scripts/setup build tidy
	@$(MAKE) --no-print-directory product
	@scripts/tidy $(BUILD)

install: ## install what is missing, build, and install under PREFIX (/usr/local), stripped; DESTDIR is kept
	@scripts/setup build
	@$(MAKE) --no-print-directory product
	@umask 022 && cmake --install $(BUILD) --prefix "$(PREFIX)" --strip # else root's may close new folders to others
	@$(renew_linker_cache)

uninstall: ## remove what the last make install has installed; DESTDIR as then
	@cmake -DMANIFEST=$(BUILD)/install_manifest.txt -DMADE_FOLDERS=$(BUILD)/install_folders.txt -P cmake/uninstall.cmake
	@$(renew_linker_cache)

rust: ## install what is missing, run the tests of the crates in bindings/rust with and without override, and pack them
	@scripts/setup rust
	@cargo test --locked --manifest-path bindings/rust/Cargo.toml
	@cargo test --locked --manifest-path bindings/rust/Cargo.toml --features override
	@RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --manifest-path bindings/rust/Cargo.toml
	@bindings/rust/package

deb: ## install what is missing, build, and pack libsnug0, libsnug-dev and snug-tools into build/deb
	@scripts/setup build deb
	@cmake --preset deb
	@cmake --build --preset deb --target product
	@scripts/make_debs

# So that the dynamic linker knows at once what lies in the system's folders.
renew_linker_cache = if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

wheel: ## install what is missing, build by Zig's compiler, and pack Python wheels for x86-64 and AArch64, glibc and musl, into build/wheels
	@scripts/setup build wheel
	@scripts/make_wheels

clean: ## remove build/
	@rm -rf build
