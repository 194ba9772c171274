# What there is to do: make help
.DEFAULT_GOAL := help
SHELL := /bin/bash
GO    ?= go

# pg_query is C: without gcc nothing builds.
export CGO_ENABLED = 1

# The tools are pinned here, and not in go.mod: their dependencies are not the product's.
# Packages tested beside each other: one more than two cores, as some wait more than they work.
TEST_PARALLEL ?= 3

LINT := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help build web packages install-deps install-tools lint format vuln test guards test-all whole demo demo-check bench site accuracy questions truth trusted test-versions fuzz verify soak crash redteam compose clean

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

build: ## bin/dpproxy (the first build compiles PostgreSQL's parser: half a minute)
	$(GO) build -trimpath -o bin/dpproxy ./cmd/dpproxy

web: ## bundle what the console's pages load, from internal/console/web into internal/console/assets (needs npm)
	cd internal/console/web && npm ci --no-audit --no-fund --ignore-scripts && node build.mjs

packages: ## dist: a binary that runs on any Linux, .deb and .rpm
	./packaging/build.sh

install-deps: ## install what the tests need and is missing: PostgreSQL, client libraries, a browser
	./tests/integration/install.sh
	./tests/integration/citus.sh

install-tools: ## install the tools of others that TestTools runs: Django, Rails, TypeORM, pgcli and more
	./tests/integration/tools/install.sh

lint: ## golangci-lint: go vet, gofumpt and the list of .golangci.yml (half a minute)
	@echo "== lint"
	@$(LINT) run

format: ## gofumpt every Go file
	@$(LINT) fmt

vuln: ## govulncheck: known vulnerabilities in what the code calls; skipped where the database is out of reach
	@echo "== vuln"
	@./tests/vulncheck.sh

# docs/testing.md says what each of these holds. The packages that take longest begin first.
test: install-deps lint ## for every change, ten minutes on two cores: lint, and every package with its smaller numbers
	@echo "== tests"
	@$(GO) test -short -count=1 -p $(TEST_PARALLEL) -vet=off -timeout 20m ./internal/rewrite ./tests/integration/... ./...

guards: install-deps ## what guards privacy, with all its numbers: corpus under every session, mutations, attacks, red team, enumerations, intervals
	@echo "== guards"
	@$(GO) test -count=1 -p $(TEST_PARALLEL) -vet=off -timeout 60m ./internal/rewrite ./internal/rewrite/expr ./internal/engine/estimate ./tests/integration/... ./tests/redteam ./internal/research/study -skip '^TestSoak$$'

test-all: ## everything there is to test, part by part, with a table of times: before a release
	@./tests/all.sh

whole: install-deps install-tools ## every package with all its numbers
	@echo "== every package"
	@$(GO) test -count=1 -p $(TEST_PARALLEL) -vet=off -timeout 90m ./internal/rewrite ./tests/integration ./...

demo: build ## a clinic to ask, in one minute: own PostgreSQL, data, policy, proxy; until Ctrl-C
	./bin/dpproxy demo --install

demo-check: build ## the same without a person: exit status 0 if the answers are right
	./bin/dpproxy demo --install --check

bench: ## proxied against direct PostgreSQL: overhead per statement, measure queries against plain ones, many groups, and charges per second
	$(GO) run ./tests/bench overhead
	$(GO) run ./tests/bench tpch
	$(GO) run ./tests/bench keys
	$(GO) run ./tests/bench growth
	$(GO) run ./tests/bench scale
	$(GO) test -run '^$$' -bench BenchmarkStep -benchtime 3x ./internal/rewrite
	$(GO) test -run '^$$' -bench 'Bare|File|Tables' ./internal/ledger/stores

trusted: ## the code that has to be right for the promise to hold, and its lines
	@./tests/trusted.sh

test-versions: install-deps ## corpus, sensitivities, setup and three clients on PostgreSQL 14 to 18 (VERSIONS="14 18", CORPUS='02_*')
	./tests/versions/run.sh

site: ## docs as a site with search, into dist/site (needs npm)
	./site/build.sh

accuracy: ## errors of the answers to many questions against the truth and their goals, beside plain noise: some minutes
	$(GO) run ./tests/accuracy

questions: ## what people ask, held against PostgreSQL's own answers: counts by intent, and every question that is refused
	$(GO) run ./tests/questions -write docs/questions.md

truth: ## what people ask of databases that nobody has prepared, under the policy of init and profile: nearness, intervals, rows, statements a month
	$(GO) run ./tests/truth

# every fuzz target of every package, one after the other
fuzz: ## every fuzz target for FUZZTIME (default 20s) each
	@for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
	    echo "$$package $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $${FUZZTIME:-20s} $$package || exit 1; \
	  done; \
	done

verify: build ## prove every mechanism's guarantee by enumeration
	./bin/dpproxy mechanism verify

soak: ## 500 clients that connect, ask, cancel and vanish at random, for two minutes
	$(GO) test -count=1 -timeout 20m -v -run Soak ./tests/integration

crash: ## kill the ledger and the proxy between charge and answer, CRASHES times on each kind of ledger (default 50)
	$(GO) test -count=1 -run 'Crash|Kill|Durab' ./internal/ledger/... ./tests/integration/...

redteam: ## hold what main executes for 5000 random statements and the corpus against what was charged (SEED=n)
	$(GO) test -count=1 -timeout 180m -v ./tests/redteam -args -seed $${SEED:-1} -statements 5000 -corpus 1 -databases 8

compose: ## check docker-compose.yml, the Dockerfile and the manifests, by their own schemas too
	$(GO) test -count=1 -run 'Compose|Manifests|Schemas' ./tests/integration ./tests/deploy

clean: ## remove bin, dist and node_modules
	rm -rf bin dist site/node_modules site/pages tests/integration/node_modules tests/integration/tools/node_modules tests/console/node_modules tests/versions/node_modules internal/console/web/node_modules
