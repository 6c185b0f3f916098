package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/common/config"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// Access has the credentials for a collector. The files are read again when they change.
type Access struct {
	// CA is a PEM file with the authority of the collector's certificate; "" means the system's authorities. TokenFile
	// has the token that the collector requires.
	CA, TokenFile string
	// Cert and Key are PEM files of the client's own certificate, for a collector that requires one.
	Cert, Key string
}

// example is the default address of a collector on this machine.
const example = "127.0.0.1:9320"

// Client returns an HTTP client for a collector, and its URL without a trailing slash. given is "host:port",
// http://host:port or https://host:port. The first form means https if a CA or a certificate is set. A token is not
// sent without TLS, except to this machine.
func (a Access) Client(given string) (string, *http.Client, error) {
	if !strings.Contains(given, "://") && given != "" {
		scheme := "http://"
		if a.CA != "" || a.Cert != "" {
			scheme = "https://"
		}
		given = scheme + given
	}
	u, err := address.URL(given).Parse(address.Form{Example: example, Secrets: "a file (--token-file)", HostPort: true})
	if err != nil {
		return "", nil, fmt.Errorf("the collector's address %w", err)
	}
	var reason string
	switch {
	case u.Scheme == "https":
	case a.CA != "":
		reason = "a CA is given"
	case a.Cert != "":
		reason = "a certificate is given"
	case a.TokenFile != "" && !address.IsLoopback(u.Hostname()):
		reason = "a token would be sent in plain text"
	}
	if reason != "" {
		return "", nil, fmt.Errorf("the collector's address %q: %s; use https://%s", u, reason, u.Host)
	}
	if err := a.check(); err != nil {
		return "", nil, err
	}
	access := config.DefaultHTTPClientConfig
	access.TLSConfig.CAFile, access.TLSConfig.CertFile, access.TLSConfig.KeyFile = a.CA, a.Cert, a.Key
	client, err := httpclient.New(httpclient.Options{Access: &access, TokenFile: a.TokenFile, MostBytes: mostBytes})
	if err != nil {
		return "", nil, fmt.Errorf("prepare requests to the collector at %s: %w", u, err)
	}
	return strings.TrimRight(u.String(), "/"), client, nil
}

// check returns an error if a file is missing or unreadable, before anything is sent.
func (a Access) check() error {
	if (a.Cert == "") != (a.Key == "") {
		return errors.New("a client certificate and its key belong together: set both or neither")
	}
	for what, path := range map[string]string{"CA": a.CA, "token": a.TokenFile, "certificate": a.Cert, "key": a.Key} {
		if path == "" {
			continue
		}
		_, err := textfile.Read(path, textfile.Most)
		if what == "token" {
			_, err = textfile.Token(path)
		}
		if err != nil {
			return fmt.Errorf("the collector's %s: %w", what, err)
		}
	}
	return nil
}
