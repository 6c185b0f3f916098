package main

import (
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// collectorFlags are the flags of commands that query a running collector over HTTP.
type collectorFlags struct {
	collector string
	access    client.Access
}

func (a *collectorFlags) addFlags(flags *pflag.FlagSet, address, usage string) {
	flags.StringVar(&a.collector, "collector", address, usage)
	flags.Var(textfile.PathFlag(&a.access.CA, ""), "tls-ca",
		"PEM file with the CA of the collector's certificate (default the system CAs)")
	flags.Var(textfile.PathFlag(&a.access.Cert, ""), "tls-cert",
		"PEM file with this client's certificate, if the collector requires one")
	flags.Var(textfile.PathFlag(&a.access.Key, ""), "tls-key", "PEM file with the private key of --tls-cert")
	flags.Var(textfile.PathFlag(&a.access.TokenFile, ""), "token-file", "file with a token that has the scope read")
}

// client returns a client of the collector.
func (a *collectorFlags) client() (*client.Client, error) {
	asked, err := client.New(a.collector, a.access)
	if err != nil {
		return nil, usageError{err}
	}
	return asked, nil
}
