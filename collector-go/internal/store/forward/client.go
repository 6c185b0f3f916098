package forward

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/common/config"
)

// Receiver is where a store is and how it knows us.
type Receiver struct {
	URL string
	// HTTP is TLS, credentials and headers. Secrets that are in files are read again when they change. Redirects are
	// never followed, whatever it asks for.
	HTTP config.HTTPClientConfig
}

// Validate returns an error that names what is invalid.
func (r Receiver) Validate() error {
	u, err := url.Parse(r.URL)
	switch {
	case r.URL == "":
		return errors.New("url is missing: the receiver's address, such as http://localhost:9090/api/v1/write")
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("url is %q: it must be http://HOST:PORT/PATH or https://HOST:PORT/PATH", r.URL)
	case u.User != nil:
		return errors.New("url holds a user or password: they belong into http_config_file")
	}
	return r.HTTP.Validate()
}

// idleConnections are closed after so long; hand-overs come once a second or so.
const idleConnections = 90 * time.Second

// Client is an HTTP client for the receiver. It connects to no other address.
func (r Receiver) Client() (*http.Client, error) {
	c := r.HTTP
	c.FollowRedirects = false
	client, err := config.NewClientFromConfig(c, "bullet-metrics", config.WithUserAgent("bullet-metrics"),
		config.WithIdleConnTimeout(idleConnections))
	if err != nil {
		return nil, fmt.Errorf("prepare to call %s: %w", r.URL, err)
	}
	return client, nil
}
