# Each target creates its own .venv, pinned by constraints.txt; a second call finds it ready.
#   make run    judge a flawed answer sheet (also as a page in out/), decide all claims, explain a misconception,
#               catch a broken layer
#   make test   lint, types, import rules and all tests
#   make lint   the first three of these
#   make docs   write the documentation as a site to out/site
#   make bench  measure the figures on this machine
# PYTHON=python3.12 chooses the interpreter; TORCH_INDEX= takes torch from the usual index.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: run test lint docs bench chromium constraints lock clean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
PACKAGING := pyproject.toml constraints.txt requirements.lock src/regard/__init__.py
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

run: $(VENV)/.core
	@rm -rf out && mkdir -p out && $(BIN)/regard verify --example out/answers.md
	@$(BIN)/regard verify out/answers.md --html out/report.html || [ $$? = 1 ]
	@echo "The document with every step marked: out/report.html"
	@echo
	@$(BIN)/regard claims
	@echo
	@$(BIN)/regard claims --explain two-heads-always-steady
	@echo
	@$(BIN)/regard check docs/examples/leaky_attention.py:layer --spec causal,positions=none --laws CAUSAL,BATCH,DET \
	    || [ $$? = 1 ]

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache --no-logo

test: lint $(VENV)/.torch chromium
	$(BIN)/python -m pytest -n 2 --dist worksteal

docs: $(VENV)/.dev
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Open out/site/index.html, or, with search: python3 -m http.server -d out/site"

bench: $(VENV)/.dev $(VENV)/.torch
	@for script in bench/*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

$(VENV)/bin/python:
	@python=$$(for name in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	    if "$$name" -c '$(IS_NEW_ENOUGH)' 2>/dev/null; then echo "$$name"; break; fi; done); \
	if [ -z "$$python" ]; then \
	    echo "Regard needs Python 3.11 or newer, and none is on the PATH. Install one, or: make PYTHON=/path/to/python3" >&2; \
	    exit 1; \
	fi; \
	"$$python" -m venv $(VENV) || { rm -rf $(VENV); \
	    echo "Could not create $(VENV). On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.core: $(VENV)/bin/python $(PACKAGING)
	@echo "Installing Regard into $(VENV) …"
	@$(PIP) install --require-hashes --no-deps -r requirements.lock
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "Installing the tools for tests …"
	@$(PIP) install -c constraints.txt -e '.[dev,lsp,serve,docs]'
	@touch $@

# The CPU build where its index can be reached, otherwise what the usual index has. Without torch its tests are skipped.
$(VENV)/.torch: $(VENV)/.dev
	@echo "Installing torch …"
	@$(if $(TORCH_INDEX),$(PIP) install -c constraints.txt --retries 0 --no-deps --index-url $(TORCH_INDEX) torch || true)
	@$(PIP) install -c constraints.txt -e '.[train]' \
	    || echo "torch could not be installed: its tests will be skipped. To try again: rm $@; make test" >&2
	@echo "Installing the other frameworks that layers are checked in …"
	@$(PIP) install -c constraints.txt -e '.[zoo]' \
	    || echo "Some of transformers, jax, flax, keras could not be installed: their tests will be skipped." >&2
	@touch $@

# Page tests need a browser. Debian's is installed only if there are such tests, none is installed, and we may.
chromium:
	@if grep -rqs playwright tests --include='*.py' && [ ! -x /usr/bin/chromium ]; then \
	    if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	        echo "Installing chromium …"; \
	        { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium; } >/dev/null 2>&1 || true; \
	    fi; \
	    [ -x /usr/bin/chromium ] || echo "There is no /usr/bin/chromium: the tests of pages will be skipped." >&2; \
	fi

# Rewrites constraints.txt from a fresh environment; only torch keeps its version.
constraints:
	@scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	python3 -m venv "$$scratch"; \
	grep '^torch==' constraints.txt > "$$scratch/kept.txt"; \
	install="$$scratch/bin/python -m pip -qq --disable-pip-version-check install -c $$scratch/kept.txt"; \
	$(if $(TORCH_INDEX),$$install --retries 0 --no-deps --index-url $(TORCH_INDEX) torch || true;) \
	$$install '.[dev,lsp,serve,docs,train,zoo]'; \
	{ echo "# All that 'make' installs, pinned. Written by 'make constraints'; torch has no local build tag."; \
	  "$$scratch/bin/python" -m pip freeze --exclude regard | sed -E 's/^(torch==[0-9.]+).*/\1/' | grep -E '^[A-Za-z0-9._-]+==[^ ]+$$'; \
	} > "$$scratch/constraints.txt"; \
	cp "$$scratch/constraints.txt" constraints.txt
	@$(MAKE) lock

# Rewrites requirements.lock: the core at the versions of constraints.txt, with hashes. torch has builds on several indexes,
# and the tools for tests do not run where Regard is used.
lock: $(VENV)/bin/python
	@$(BIN)/python .ci/lock.py

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .hypothesis
