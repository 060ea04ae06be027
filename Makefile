# The commands of casemate. `make run` and `make test` each work alone in a fresh clone on Debian 12:
# they install the packages that are missing (tools/setup), build, and go.

BUILD_PROGRAMS := tools/setup build && tools/build release apps/all guest/all

.PHONY: help run ledgers test build bars soak format clean
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 14

run: ## build casemate and run the example program in a box
	@$(BUILD_PROGRAMS)
	@build/release/bin/casemate run --file examples/revenue/sales.csv --out out \
	  examples/revenue/revenue.py
	@echo "the chart is in out/: $$(cd out && ls -t | grep -m1 '\.png$$' || echo 'no .png was written')"

ledgers: ## compare three scripted agents: calls one by one, all at once, one program (JSON=1, PRICE=3/15/3.75/0.3)
	@$(BUILD_PROGRAMS)
	@tools/setup tokens && tools/tokenizer
	@/usr/bin/python3 -B examples/ledgers/compare.py $(if $(JSON),--json) $(if $(PRICE),--price $(PRICE))

# Those that say the same again in slots and on stronger rungs (long) take longer than the others together, and
# have a part that stands for them (sampled).
TESTS ?= -LE 'long|sampled'
test: ## build everything and run the tests (TESTS='-LE sampled' for the long ones too, TESTS='-L unit': options of ctest)
	@tools/setup build test tokens
	@tools/test dev $(TESTS)

build: ## build the programs into build/release/bin
	@$(BUILD_PROGRAMS)
	@echo "programs are in build/release/bin: $$(cd build/release/bin && ls | grep -v '\.' | paste -sd' ')"

bars: ## measure what casemate promises and print it as a table (BARS=--quick leaves slow rows out)
	@$(BUILD_PROGRAMS)
	@tools/setup test bars && tools/build dev
	@tools/bars $(BARS)

soak: ## run the tests that touch the kernel again and again (SOAK_MINUTES=30), and once on another kernel
	@tools/setup build test tokens
	@tools/soak

format: ## format the C++ sources in place
	@tools/setup ci
	@tools/format

clean: ## remove what was built
	@rm -rf build out
