# Everything a newcomer needs: `make demo` and `make test` set up .venv by themselves.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
RUN := $(VENV)/bin/python

# Tests and benchmarks use the paper's data where it lies beside the project.
ifneq ($(wildcard ../shared/data/letters.npz),)
export PROTOSIEVE_DATA ?= $(abspath ../shared/data)
endif

# Tests start many processes, which need not compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-rest test-all lint types contracts unit coverage bench bench-accuracy bench-memory bench-orders bench-calibrated bench-classify bench-coverage bench-drift bench-features bench-labels bench-latency bench-peers bench-files bench-report bench-rounds bench-scale paper soak clean screenshots test-large test-spark

demo: $(VENV)/.ready  ## Choose 20 of 1,797 handwritten digits from files and look at them
	$(RUN) -m protosieve demo

test: $(VENV)/.ready  ## What must be green before a merge
	$(MAKE) --no-print-directory --jobs=2 lint types contracts unit

test-rest: $(VENV)/.ready  ## What `make test` leaves out or tries a little of: browser, clusters, kills, fuzz, all examples
	HYPOTHESIS_PROFILE=full $(RUN) -m pytest -n auto --dist loadgroup -m "thorough or repeated"

test-all: test test-rest test-large  ## Every test, with all that it tries

lint: $(VENV)/.ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.ready
	$(VENV)/bin/mypy

contracts: $(VENV)/.ready
	$(VENV)/bin/lint-imports

# Each core has a worker: more threads would take turns. Results must not depend on it, and tests/test_blas.py sees to that.
unit test-rest test-large coverage: export OPENBLAS_NUM_THREADS := 1

unit: $(VENV)/.ready
	$(RUN) -m pytest -n auto --dist loadgroup -m "not thorough"

coverage: $(VENV)/.ready  ## Branch coverage of the package by the tests of `make test`, processes they start included
	$(VENV)/bin/coverage run -m pytest -n auto --dist loadgroup -m "not thorough"
	$(VENV)/bin/coverage combine --quiet
	$(VENV)/bin/coverage report --skip-covered

test-spark: $(VENV)-spark/.ready  ## Runs on Spark, where there is Java 17 or later: five minutes or so
	$(VENV)-spark/bin/python -m pytest tests/spark

test-large: $(VENV)-large/.ready  ## Tables of torch and of Hugging Face's datasets, libraries that embed: half a minute
	$(VENV)-large/bin/python -m pytest -m large tests/run/test_tables.py tests/run/test_embed.py

bench: $(VENV)/.ready  ## Time, quality and memory on the paper's data
	$(RUN) -m benchmarks

bench-accuracy: $(VENV)/.ready  ## Labelled prototypes as a classifier: one width, several, k-means, random rows
	$(RUN) -m benchmarks.accuracy

bench-classify: $(VENV)/.ready  ## A few labelled rows of each class against the nearest of all rows
	$(RUN) -m benchmarks.classify

bench-rounds: $(VENV)/.ready  ## Labels in three rounds, by who chooses them
	$(RUN) -m benchmarks.rounds --write

bench-labels: $(VENV)/.ready  ## Rows to label: how well others are classified by them, by who chooses them
	$(RUN) -m benchmarks.labels --regression --write

bench-memory: $(VENV)/.ready  ## A million rows in fixed memory
	$(RUN) -m benchmarks.memory

bench-orders: $(VENV)/.ready  ## One pass against batch selection, in orders meant to hurt
	$(RUN) -m benchmarks.orders

bench-calibrated: $(VENV)/.ready  ## The mean of all rows in fixed memory, against the exact mean: in memory, of files, streamed, sorted
	$(RUN) -m benchmarks.calibrated

bench-coverage: $(VENV)/.ready  ## How often the certificate's bound holds, over 500 samples
	$(RUN) -m benchmarks.coverage

bench-drift: $(VENV)/.ready  ## False alarms of Drift on streams that do not change, and how soon a change is noticed
	$(RUN) -m benchmarks.drift

bench-features: $(VENV)/.ready  ## 100,000 streamed features: speed against a fit per candidate, memory
	$(RUN) -m benchmarks.features

bench-latency: $(VENV)/.ready  ## How long partial_fit and result_ make their caller wait: median, 99th percentile, worst
	$(RUN) -m benchmarks.latency

bench-peers: $(VENV)/.ready  ## Other tools beside us, each in an environment of its own under .bench
	$(RUN) -m benchmarks.peers

bench-files: $(VENV)/.ready  ## Two million rows in Parquet files: time against reading them, memory
	$(RUN) -m benchmarks.files

bench-report: $(VENV)/.ready  ## What the page about 500 prototypes of a million rows costs, against the run
	$(RUN) -m benchmarks.report

bench-scale: $(VENV)/.ready  ## Runs over files in this process and on 1 and 2 workers: seconds of each pass, memory of each process
	$(RUN) -m benchmarks.scale

paper: $(VENV)/.ready  ## The paper's tables and figures, beside the printed ones, into docs/paper
	$(RUN) -m experiments

screenshots: $(VENV)/.ready  ## The pictures of docs/report.md, with Chromium, into docs/images
	$(RUN) tools/screenshots.py

soak: $(VENV)/.ready  ## 300 kills, 10,000 damaged or odd files and tables to choose from, 1,000 forged state files, 1,200 failures in the middle: two hours or so
	PROTOSIEVE_KILLS=300 PROTOSIEVE_FUZZ=10000 PROTOSIEVE_FORGED=1000 PROTOSIEVE_EXITS=200 PROTOSIEVE_CASES=10000 $(RUN) -m pytest -n auto -o timeout=0 \
	    tests/run/test_beside_groups_and_quotas.py tests/run/test_resume.py tests/cli/test_damaged_and_odd_files.py tests/io/test_damaged_files.py \
	    tests/io/test_failures_while_reading.py tests/test_forged_states.py

clean:
	rm -rf $(VENV) $(VENV)-large $(VENV)-spark dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade "pip>=25.1"
	$(RUN) -m pip install --quiet --editable ".[cli,plot]" --group dev
	touch $@

$(VENV)-large/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-large
	$(VENV)-large/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)-large/bin/python -m pip install --quiet --editable ".[cli,plot]" --group dev --group large
	touch $@

$(VENV)-spark/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-spark
	$(VENV)-spark/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)-spark/bin/python -m pip install --quiet --editable ".[cli,plot,spark]" "pyspark[connect]" --group dev
	touch $@
