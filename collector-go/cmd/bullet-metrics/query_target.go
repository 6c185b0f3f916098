package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
)

// What queries go through.
const (
	targetGateway = "gateway"
	targetDRPC    = "drpc"
)

// queryTarget are the flags of commands that submit queries: where to, and who makes the records that they look for.
type queryTarget struct{ target, url, function, source string }

func (q *queryTarget) addFlags(flags *pflag.FlagSet, url string) {
	flags.StringVar(&q.target, "target", targetGateway,
		"endpoint for the queries: gateway (Bullet's query endpoint) or drpc (Storm's DRPC over HTTP)")
	flags.StringVar(&q.url, "url", "", "address of the endpoint, HOST:PORT or URL"+url)
	flags.StringVar(&q.function, "function", "bullet-query", "name of the DRPC function")
	flags.StringVar(&q.source, "source", "",
		"address that controls the topology's record source; \"none\" if there is none (default the address of --url for gateway, none for drpc)")
}

// complete fills in the source that follows from the target, and checks the addresses. source is "" for none then.
func (q *queryTarget) complete() error {
	if q.source == "" && q.target == targetGateway {
		q.source = q.url
	}
	if q.source == "none" {
		q.source = ""
	}
	for _, flag := range []struct{ name, value string }{{"--url", q.url}, {"--source", q.source}} {
		if flag.value == "" {
			continue
		}
		if _, err := address.URL(flag.value).Parse(load.Address("127.0.0.1:9901")); err != nil {
			return fmt.Errorf("%s %w", flag.name, err)
		}
	}
	return nil
}

func (q *queryTarget) check() error {
	if q.target != targetGateway && q.target != targetDRPC {
		return fmt.Errorf("--target must be %s or %s, not %q", targetGateway, targetDRPC, q.target)
	}
	return nil
}

// open returns what submits queries, over so many connections, and what closes it.
func (q *queryTarget) open(connections int) (load.Submitter, func()) {
	if q.target == targetDRPC {
		return load.Target{DRPC: []string{q.url}, Function: q.function}.Open(connections)
	}
	return load.Target{Gateway: q.url}.Open(connections)
}
