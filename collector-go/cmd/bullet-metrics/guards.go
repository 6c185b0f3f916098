package main

import (
	"errors"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// openGuards reads who may enter by which port, of both, so that a fault of the one does not hide those of the other.
func (col *collector) openGuards(c config.Config, figures prometheus.Registerer) error {
	var ofSenders, ofReaders error
	col.senders, ofSenders = access.Open(access.Options{
		Port: access.GRPC, Listen: c.GRPC.Listen, Insecure: c.GRPC.Insecure, TokenFile: c.GRPC.TokenFile,
		TLS:    access.TLSFiles{Cert: c.GRPC.TLSCertFile, Key: c.GRPC.TLSKeyFile, ClientCA: c.GRPC.ClientCAFile},
		Logger: col.logger, Registerer: figures,
	})
	col.readers, ofReaders = access.Open(access.Options{
		Port: access.HTTP, Listen: c.HTTP.Listen, Insecure: c.HTTP.Insecure, TokenFile: c.HTTP.TokenFile,
		WriteTokenFile: c.GRPC.TokenFile,
		WebConfigFile:  c.HTTP.WebConfigFile, Logger: col.logger, Registerer: figures,
	})
	return errors.Join(ofSenders, ofReaders)
}

// hosts are the names by which browsers may call the collector: those of the settings, and the one that alerts lead to.
func hosts(c config.HTTP) []string {
	all := c.AllowedHosts
	if u, err := url.Parse(c.ExternalURL); err == nil && u.Hostname() != "" {
		all = append(all[:len(all):len(all)], u.Hostname())
	}
	return all
}
