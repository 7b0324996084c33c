# SPDX-License-Identifier: MIT
# Short names for what people do here; CMake (CMakePresets.json) does the work.
#
#   make demo         install what is missing, build, show the command at work
#   make check        install what is missing, build with sanitizers, run the tests
#   make check-more   foreign architectures, 32 bits, thread sanitizer, hosts, long fuzzing and more
#   make dist         archives of the command for Linux, macOS and Windows in build/dist
#   make bench        build optimised and run the benchmarks
#   make              build optimised
#   make install      install the optimised build under PREFIX (DESTDIR is honoured); as root into
#                     /usr or /usr/local the linker's cache is brought up to date, too
#   make uninstall    remove what that installed
#   make format       let clang-format lay out all sources
#   make clean        remove build/ but for the Python environment

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

all: build-release

# What it shows is built, and nothing else: not optimised, without servers and mounts, and without the kernels of
# AVX2 and AVX-512, which give the same bytes and take a third of the time of the compiler. The rest is a matter of seconds.
demo: setup-build
	@echo 'Building the command: about 45 seconds of one processor, so less with several.'
	@mkdir -p build; [ -f build/demo/build.ninja ] || cmake --preset demo >build/demo.log || { cat build/demo.log; exit 1; }
	@cmake --build build/demo -j $(JOBS) --target tare
	@scripts/demo build/demo/cli/tare

# Two tests more than processors: some of them mostly wait, for a server or for a terminal.
check: setup-check
	@scripts/venv
	@$(MAKE) --no-print-directory build-dev
	@(cd build/dev && ctest -j $$(($(JOBS) + 2)) --output-on-failure) </dev/null; \
	    status=$$?; scripts/test-summary build/dev; exit $$status

check-more: setup-more
	@scripts/check-more

dist: setup-dist
	@scripts/dist

bench: setup-build
	@$(MAKE) --no-print-directory build-release
	bench/run build/release

install: build-release
	cmake --install build/release --prefix $(PREFIX)

uninstall:
	@scripts/uninstall build/release/install_manifest.txt $(PREFIX)

format:
	scripts/check-format.py --fix

clean:
	find build -mindepth 1 -maxdepth 1 ! -name venv -exec rm -rf {} + 2>/dev/null || true

setup-build:
	@scripts/setup build
setup-check:
	@scripts/setup build check
setup-dist:
	@scripts/setup build check dist
setup-more:
	@scripts/setup build check more

build-%:
	@[ -f build/$*/build.ninja ] || cmake --preset $*
	cmake --build build/$* -j $(JOBS)

.PHONY: all demo check check-more bench install uninstall format clean setup-build setup-check setup-more
