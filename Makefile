# Everything a user or CI runs. The library for C lands in target/tactus (lib/, include/), the examples in target/examples_c.

CARGO  ?= cargo
CC     ?= cc
PYTHON ?= python3
CFLAGS ?= -O2 -g
WARN   := -Wall -Wextra -Werror -std=c11

# Cargo features of the library, such as FEATURES=cuda.
FEATURES ?=

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
OUT     := target/tactus
STATIC  := target/release/libtactus.a
SHARED  := $(OUT)/lib/libtactus.so.$(VERSION)

SMOLLM2 := target/models/SmolLM2-135M-Instruct.Q4_1.gguf
MODEL   ?= $(SMOLLM2)
PROMPT  ?= What is the capital of France? Answer in one sentence.

EXAMPLES := $(patsubst examples_c/%.c,target/examples_c/%,$(wildcard examples_c/*.c))

# Where `make install` puts things; DESTDIR goes before all of them. LIBDIR and INCLUDEDIR follow PREFIX unless they are given.
PREFIX  ?= /usr/local
PLACES   = PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" INCLUDEDIR="$(INCLUDEDIR)" DESTDIR="$(DESTDIR)"

.PHONY: all lib examples demo models test lint fmt header kernels abi docs install uninstall dist bench-peer clean

all: lib examples

# The two lines a user needs: `make demo` and `make test`.
demo: examples $(if $(filter $(SMOLLM2),$(MODEL)),$(SMOLLM2))
	@target/examples_c/chat --model "$(MODEL)" --prompt "$(PROMPT)"

$(SMOLLM2):
	$(PYTHON) scripts/fetch_models.py --only smollm2

models:
	$(PYTHON) scripts/fetch_models.py

lib:
	$(CARGO) build --release --quiet $(if $(FEATURES),--features $(FEATURES))
	@$(MAKE) --no-print-directory $(SHARED)

$(SHARED): $(STATIC) include/tactus.h scripts/link-shared.sh
	CC="$(CC)" scripts/link-shared.sh $(STATIC) $(VERSION) $(OUT)

examples: lib
	@$(MAKE) --no-print-directory $(EXAMPLES)

target/examples_c/%: examples_c/%.c $(SHARED)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WARN) -I$(OUT)/include $< -o $@ -L$(OUT)/lib -ltactus -Wl,-rpath,'$$ORIGIN/../tactus/lib' -lpthread

# The C programs under tests/c are built and run by tests/capi_programs.rs against the library of `make lib`.
test: lib examples
	$(CARGO) test --features testing

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --features testing -- -D warnings
	$(CARGO) xtask header --check
	$(PYTHON) scripts/abi.py
	$(PYTHON) scripts/bindings.py

fmt:
	$(CARGO) fmt --all

header:
	$(CARGO) xtask header

# Records what the header declares, after something was added to it and TACTUS_ABI_VERSION raised.
abi:
	$(PYTHON) scripts/abi.py --record
	$(PYTHON) scripts/bindings.py --write

docs:
	scripts/docs.sh $(VERSION) target/docs

# Builds nothing that is there already, so that it can be run by a user who has no Rust.
install:
	@test -e $(SHARED) || $(MAKE) --no-print-directory lib
	$(PLACES) scripts/install.sh install $(OUT) $(VERSION)

uninstall:
	$(PLACES) scripts/install.sh uninstall $(OUT) $(VERSION)

dist: lib
	scripts/dist.sh $(OUT) $(VERSION) target/dist

# Compiles every CUDA kernel for Hopper and for what drivers compile themselves, with no GPU and no CUDA installed.
NVCC := target/nvcc/bin/nvcc
kernels: $(NVCC)
	@mkdir -p target/kernels
	@find kernels -name '*.cu' | sort | xargs -P $$(nproc) -I{} sh -c '$(NVCC) -fatbin -O3 -std=c++17 -Ikernels \
		-gencode=arch=compute_90a,code=sm_90a -gencode=arch=compute_80,code=compute_80 \
		-o target/kernels/$$(echo {} | tr / _).fatbin {}'

$(NVCC):
	scripts/fetch_nvcc.sh target/nvcc

bench-peer: examples models
	scripts/bench_peer.sh $(BENCH)

clean:
	$(CARGO) clean
