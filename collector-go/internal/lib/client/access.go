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

// Access is how a collector lets its client in. What the files hold is read again when it changes.
type Access struct {
	// CA is a PEM file of the authority of the collector's certificate, "" for the system's; TokenFile holds the token
	// that it asks for.
	CA, TokenFile string
	// Cert and Key are PEM files of the client's own certificate, for a collector that asks for one.
	Cert, Key string
}

// example is the address of a collector on this machine.
const example = "127.0.0.1:9320"

// Client returns an HTTP client for a collector, and its address as a URL without a slash at its end: "host:port",
// which is https with a CA or a certificate, http://host:port or https://host:port. A token does not go out in the
// clear, but to this machine.
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
		return "", nil, fmt.Errorf("prepare to ask the collector at %s: %w", u, err)
	}
	return strings.TrimRight(u.String(), "/"), client, nil
}

// check reports which file is missing before anything waits for an answer.
func (a Access) check() error {
	if (a.Cert == "") != (a.Key == "") {
		return errors.New("a client's certificate needs its key, and a key its certificate")
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
