package main

import (
	"net/http"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
)

// asking are the flags of commands that ask a running collector over HTTP.
type asking struct {
	collector string
	access    experiment.CollectorAccess
}

func (a *asking) addFlags(flags *pflag.FlagSet, address, usage string) {
	flags.StringVar(&a.collector, "collector", address, usage)
	flags.StringVar(&a.access.CA, "tls-ca", "", "PEM file of the CA that signed the collector's certificate (default the system's)")
	flags.StringVar(&a.access.Cert, "tls-cert", "", "PEM file of this client's certificate, for a collector that asks for one")
	flags.StringVar(&a.access.Key, "tls-key", "", "PEM file of its key")
	flags.StringVar(&a.access.TokenFile, "token-file", "", "file with a token that may read")
}

// client asks, and the collector's address without a slash at its end.
func (a *asking) client() (string, *http.Client, error) {
	address, client, err := a.access.Client(a.collector)
	if err != nil {
		return "", nil, usageError{err}
	}
	return address, client, nil
}
