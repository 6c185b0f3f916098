package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/prometheus/common/config"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/textfile"
)

// Access is how a collector lets its client in. What the files hold is read again when it changes.
type Access struct {
	// CA is a PEM file of the authority of the collector's certificate, "" for the system's; TokenFile holds the token
	// that it asks for.
	CA, TokenFile string
	// Cert and Key are PEM files of the client's own certificate, for a collector that asks for one.
	Cert, Key string
}

// Client returns an HTTP client for a collector, and its address as a URL without a slash at its end: "host:port",
// which is https with a CA or a certificate, http://host:port or https://host:port. A token does not go out in the
// clear, but to this machine.
func (a Access) Client(address string) (string, *http.Client, error) {
	if !strings.Contains(address, "://") {
		scheme := "http://"
		if a.CA != "" || a.Cert != "" {
			scheme = "https://"
		}
		address = scheme + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", nil, fmt.Errorf(
			"the collector's address is %q: write host:port, http://host:port or https://host:port", address)
	case u.Scheme == "http" && a.CA != "":
		return "", nil, fmt.Errorf("the collector's address is %q, and a CA is given: write https://%s",
			address, u.Host)
	case u.Scheme == "http" && a.Cert != "":
		return "", nil, fmt.Errorf("the collector's address is %q, and a certificate is given: write https://%s",
			address, u.Host)
	case u.Scheme == "http" && a.TokenFile != "" && !isLoopback(u.Hostname()):
		return "", nil, fmt.Errorf(
			"the collector's address is %q, and a token would go out in the clear: write https://%s", address, u.Host)
	}
	if err := a.check(); err != nil {
		return "", nil, err
	}
	options := config.DefaultHTTPClientConfig
	options.TLSConfig.CAFile, options.TLSConfig.CertFile, options.TLSConfig.KeyFile = a.CA, a.Cert, a.Key
	options.FollowRedirects = a.TokenFile == "" // it is for the address that was given
	if a.TokenFile != "" {
		options.Authorization = &config.Authorization{Type: "Bearer", CredentialsFile: a.TokenFile}
	}
	client, err := config.NewClientFromConfig(options, "collector", config.WithUserAgent("bullet-metrics"))
	if err != nil {
		return "", nil, fmt.Errorf("prepare to ask the collector at %s: %w", address, err)
	}
	return strings.TrimRight(address, "/"), client, nil
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
		if _, err := textfile.Read(path, textfile.Most); err != nil {
			return fmt.Errorf("the collector's %s: %w", what, err)
		}
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
