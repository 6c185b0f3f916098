package forward

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/common/config"
)

// Receiver is where a store is and how it knows us. Secrets are in files, which are read again when they change.
type Receiver struct {
	URL string
	// Username with PasswordFile, or TokenFile; neither where the receiver asks for nothing.
	Username     string
	PasswordFile string
	TokenFile    string
	TokenType    string // "Bearer", "Token", ...: what comes before the token
	TLS          TLS
	Headers      map[string]string // sent with every request
}

// TLS is how an https receiver is known, and how we are known to it.
type TLS struct {
	CAFile     string // PEM; the system's authorities where empty
	CertFile   string // PEM; a certificate of ours, where the receiver asks for one
	KeyFile    string
	ServerName string // the name in the receiver's certificate, where it is not that of the URL
}

// Validate says what cannot be, in the words of the settings.
func (r Receiver) Validate() error {
	u, err := url.Parse(r.URL)
	switch {
	case r.URL == "":
		return errors.New("url is missing: the receiver's address, such as http://localhost:9090/api/v1/write")
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("url is %q: it must be http://HOST:PORT/PATH or https://HOST:PORT/PATH", r.URL)
	case u.User != nil:
		return errors.New("url holds a user or password: set username and password_file instead")
	case (r.Username == "") != (r.PasswordFile == ""):
		return errors.New("username and password_file belong together: set both or none")
	case r.Username != "" && r.TokenFile != "":
		return errors.New("username and token_file exclude each other: set one")
	case (r.TLS.CertFile == "") != (r.TLS.KeyFile == ""):
		return errors.New("tls.cert_file and tls.key_file belong together: set both or none")
	}
	for name := range r.Headers {
		if _, reserved := config.ReservedHeaders[http.CanonicalHeaderKey(name)]; reserved {
			return fmt.Errorf("headers sets %s, which the collector sets itself; secrets belong in password_file or token_file", name)
		}
	}
	return nil
}

// idleConnections are closed after so long; hand-overs come once a second or so.
const idleConnections = 90 * time.Second

// Client is an HTTP client for the receiver: it follows no redirects and knows no proxy.
func (r Receiver) Client() (*http.Client, error) {
	c := config.HTTPClientConfig{
		TLSConfig:   config.TLSConfig{CAFile: r.TLS.CAFile, CertFile: r.TLS.CertFile, KeyFile: r.TLS.KeyFile, ServerName: r.TLS.ServerName},
		EnableHTTP2: true,
	}
	if r.Username != "" {
		c.BasicAuth = &config.BasicAuth{Username: r.Username, PasswordFile: r.PasswordFile}
	}
	if r.TokenFile != "" {
		c.Authorization = &config.Authorization{Type: r.TokenType, CredentialsFile: r.TokenFile}
	}
	if len(r.Headers) > 0 {
		c.HTTPHeaders = &config.Headers{Headers: map[string]config.Header{}}
		for name, value := range r.Headers {
			c.HTTPHeaders.Headers[name] = config.Header{Values: []string{value}}
		}
	}
	client, err := config.NewClientFromConfig(c, "bullet-metrics", config.WithUserAgent("bullet-metrics"), config.WithIdleConnTimeout(idleConnections))
	if err != nil {
		return nil, fmt.Errorf("prepare to call %s: %w", r.URL, err)
	}
	return client, nil
}
