package main

import (
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// asking are the flags of commands that ask a running collector over HTTP.
type asking struct {
	collector string
	access    client.Access
}

func (a *asking) addFlags(flags *pflag.FlagSet, address, usage string) {
	flags.StringVar(&a.collector, "collector", address, usage)
	flags.Var(textfile.PathFlag(&a.access.CA, ""), "tls-ca",
		"PEM file of the CA that signed the collector's certificate (default the system's)")
	flags.Var(textfile.PathFlag(&a.access.Cert, ""), "tls-cert",
		"PEM file of this client's certificate, for a collector that asks for one")
	flags.Var(textfile.PathFlag(&a.access.Key, ""), "tls-key", "PEM file of its key")
	flags.Var(textfile.PathFlag(&a.access.TokenFile, ""), "token-file", "file with a token that may read")
}

// client asks the collector.
func (a *asking) client() (*client.Client, error) {
	asked, err := client.New(a.collector, a.access)
	if err != nil {
		return nil, usageError{err}
	}
	return asked, nil
}
