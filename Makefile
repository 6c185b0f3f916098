# Bullet Metrics. `make help` lists the verbs. CI uses the same ones. collector-go/testing/Makefile has the parts of the tests and everything that only
# measures; collector-go/tools/Makefile builds tools and has what a release needs.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Every recipe runs with the JDK, Maven and Go that .ci/toolchain found or installed. Compilers take memory for time: it is a third less.
run := source build/go.env; source build/java.env;
go_build := GOGC=400 go build
# A build of a minute needs no second compiler of the JVM, and jansi ends each log with escape codes.
export MAVEN_OPTS ?= -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djansi.noreset=true
mvn := mvn --batch-mode --no-transfer-progress -Dstyle.color=never $(MAVEN_ARGS)

go_sources   := $(shell find collector-go -name '*.go' -o -name 'go.*' -not -path '*/testdata/*')
java_sources := pom.xml $(shell find plugin-java topology -path '*/target' -prune -o \( -path '*/src/*' -o -path '*/conf/*' -o -name pom.xml \) -type f -print)
proto_sources := $(shell find proto -name '*.proto' -o -name 'buf*.yaml')

# What a build at the desk is called: before the release of VERSION, and of which commit. `make release` calls its builds VERSION.
version := $(shell cat VERSION)-dev$(shell git describe --always --dirty=.dirty --exclude '*' 2>/dev/null | sed 's/^/+/')

.PHONY: help
help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
	@echo "Parts of these, and what only measures: make help-all"

.PHONY: help-all
help-all:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- build and run

# Looked for each time, since they may have gone. Only ever order-only prerequisites: nothing is built again for them.
.PHONY: toolchain go-package build/go.env build/java.env
toolchain: build/go.env build/java.env
go-package:
	@.ci/toolchain go-package
build/go.env: go-package
	@.ci/toolchain go
build/java.env: go-package
	@.ci/toolchain java

# Two jobs at a time, unless a make above this one has its own.
two_jobs = $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs=2)

# On a new machine, Go compiles while the JDK and Maven are installed, and beside Maven: each waits for the network half of its time.
.PHONY: build
build: ## Build the program, the plugin's jar, the topology, the local cluster and the local Kafka into build/
	@$(MAKE) $(two_jobs) build/bullet-metrics build/java.stamp
	@echo "build/ is complete; next: make demo, or build/bullet-metrics tour"

build/bullet-metrics: $(go_sources) VERSION | build/go.env
	@echo "building build/bullet-metrics (Go)"
	@source build/go.env; cd collector-go && CGO_ENABLED=0 $(go_build) -trimpath -gcflags=all=-dwarf=false -ldflags '-s -w -X main.version=$(version)' -o ../$@ ./cmd/bullet-metrics

# Modules of make build, without tests. The other modules contain only tests.
built_modules := plugin-java,topology/bullet-topology,topology/local-storm,topology/local-kafka

build/java.stamp: $(java_sources) | build/java.env
	@echo "building the Java parts (the first time Maven fetches Storm and Bullet)"
	@source build/java.env; $(mvn) --quiet -Dmaven.test.skip=true -pl $(built_modules) -am package
	@cp plugin-java/target/bullet-metrics-storm.jar topology/bullet-topology/target/bullet-topology.jar \
	  topology/local-storm/target/local-storm.jar topology/local-kafka/target/local-kafka.jar build/
	@rm -rf build/storm && cp -r topology/local-storm/target/storm build/storm
	@rm -rf build/kafka && cp -r topology/local-kafka/target/kafka build/kafka
	@touch $@

.PHONY: demo
demo: build ## Measure a real Bullet topology on a local Storm cluster; report in out/demo (five minutes; DEMO_SECONDS=900 measures more carefully)
	@$(run) exec build/bullet-metrics demo --out out/demo

# --- tests and checks

# What the change is compared with: a commit, or nothing for the commit at which this branch left origin/main.
BASE ?=

# Two parts at a time, the longest first. The page and the running topology, which wait more than they compute, come together.
.PHONY: test
test: test-proto build ## Test every part, on real servers, a real cluster and a real browser; leaves long tests out, and runs few cases of property tests
	@$(run) .ci/chromium; .ci/node # here, since two parts must not call apt-get at once
	@$(MAKE) --jobs=2 test-collector test-java test-running test-page test-stores
	@echo "make test passed; make test-all runs every test"

.PHONY: test-all
test-all: test ## Run every test: make test, then what it leaves out, on servers built from source (test-more), and tests that each take several minutes (test-long)
	@$(MAKE) test-more
	@$(MAKE) test-long

.PHONY: test-quick
test-quick: ## Test the Go packages that differ from BASE; needs Go alone
	@.ci/quick $(BASE)

# All build tags of tests.
tags := e2e,prometheus,stores,dashboards,page,client,chaos,golden,release

# Not --quiet, which hides warnings from --strict too.
.PHONY: docs
docs: build/docs/stamp ## Build the documentation site into build/site; a dead link, or a page outside its navigation, fails
	@out=$$(NO_MKDOCS_2_WARNING=1 build/docs/venv/bin/mkdocs build 2>&1) || { echo "$$out" >&2; exit 1; }
	@echo "docs: build/site/index.html"

build/docs/stamp: .ci/docs/requirements.txt .ci/python
	@.ci/python
	@echo "fetching what builds the documentation"
	@rm -rf build/docs && mkdir -p build/docs && python3 -m venv build/docs/venv
	@build/docs/venv/bin/pip install --quiet --disable-pip-version-check -r .ci/docs/requirements.txt
	@touch $@

.PHONY: check
check: test-proto docs check-prose build/tools/staticcheck ## Check format, lint, generated code, the table of imports, the documentation's links and sentences, and known vulnerabilities
	@$(run) cd collector-go && unformatted=$$(gofmt -l $$(git ls-files '*.go' | grep -v '^gen/')); \
	  [ -z "$$unformatted" ] || { echo "not formatted (type gofmt -w): $$unformatted" >&2; exit 1; }
	@$(run) cd collector-go && go vet -tags $(tags) ./... && ../build/tools/staticcheck -tags $(tags) ./... && go test -count=1 ./testing/archtest
	@$(MAKE) check-page
	@$(MAKE) check-vulnerabilities
	@echo "check passed"

# All that lock or count what goroutines share, where none is named: RACE_PACKAGES='./internal/collector/feed ./internal/collector/ingest'.
RACE_PACKAGES ?=

.PHONY: race
race: | toolchain ## Test the packages whose goroutines share memory under the race detector (needs gcc)
	@$(run) .ci/race $(RACE_PACKAGES)

# How long each target is fuzzed, s.
FUZZ_SECONDS ?= 10

.PHONY: fuzz
fuzz: | toolchain ## Fuzz every decoder of the collector, one after the other (FUZZ_SECONDS=60 for a minute each), and play the plugin's packs from another seed
	@$(run) .ci/fuzz $(FUZZ_SECONDS)
	@$(run) $(mvn) --quiet -pl plugin-java -am -Dtest='*PackTest' -Dsurefire.failIfNoSpecifiedTests=false -Dseed.first=$$(date +%s%N) test

# --- generated code, releases and benchmarks

.PHONY: proto
proto: build/tools/go.stamp build/tools/java.stamp | toolchain ## Generate Go and Java code from proto/
	@$(run) $(call generate,$(CURDIR))

.PHONY: release
release: | toolchain ## Make the release of the commit that is checked out into dist/: tarballs, .deb, .rpm, image, plugin, bill of materials, sums
	@$(run) .ci/release dist
	@cat dist/SHA256SUMS

# Scenarios or numbers of goals to measure again, all that is missing where it is empty; how much of each set; where CPU profiles of ours go.
BENCH ?=
BENCH_SCALE ?= 1
PROFILES ?=

.PHONY: bench
bench: build build/bench bench-peers ## Measure all ten goals beside the peers, going on where it was ended (over an hour; BENCH_QUICK=1 for about 20 minutes, BENCH="own-slice 7" for some again, BENCH_SCALE=0.1, PROFILES=DIR)
	@$(run) $(mvn) --quiet -f plugin-java/bench/pom.xml package
	@$(run) exec build/bench --scale $(BENCH_SCALE) --profiles '$(PROFILES)' $(BENCH)

.PHONY: clean
clean: ## Remove what was built and written
	rm -rf build out $$(find . -name target -type d -not -path './.git/*')

include collector-go/testing/Makefile collector-go/tools/Makefile
