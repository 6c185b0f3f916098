package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/prometheus/common/config"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// ReadConfig reads an http_config_file, which has TLS settings, credentials and headers in the form of Prometheus. An
// empty path means the default. The files that it names are checked, too.
func ReadConfig(path string) (config.HTTPClientConfig, error) {
	if path == "" {
		return config.DefaultHTTPClientConfig, nil
	}
	read, err := readConfig(path)
	if err != nil {
		return config.DefaultHTTPClientConfig, fmt.Errorf("http_config_file: %w", err)
	}
	return *read, nil
}

func readConfig(path string) (*config.HTTPClientConfig, error) {
	text, err := textfile.Read(path, textfile.Most)
	if err != nil {
		return nil, err
	}
	var second yamlfile.SecondDocument
	if err := yamlfile.OneDocument(text); errors.As(err, &second) { // the library ignores a second document silently
		return nil, fmt.Errorf("%s:%d: %w", path, second.Line, err)
	}
	read, err := config.LoadHTTPConfig(string(text))
	if err != nil {
		return nil, yamlfile.LibraryFaults(path, err)
	}
	read.SetDirectory(filepath.Dir(path))
	if err := checkSecrets(read); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return read, nil
}

// checkSecrets reads the files with tokens and passwords. Without this check an invalid file would show only as an
// invalid header when something is sent.
func checkSecrets(c *config.HTTPClientConfig) (err error) {
	check := func(key, path string, read func(string) (string, error)) {
		if path == "" {
			return
		}
		if _, bad := read(path); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", key, bad))
		}
	}
	if c.Authorization != nil {
		read := textfile.Password
		if strings.EqualFold(c.Authorization.Type, "Bearer") { // also for bearer_token_file
			read = textfile.Token
		}
		check("authorization.credentials_file", c.Authorization.CredentialsFile, read)
	}
	if c.BasicAuth != nil {
		check("basic_auth.username_file", c.BasicAuth.UsernameFile, textfile.Password)
		check("basic_auth.password_file", c.BasicAuth.PasswordFile, textfile.Password)
	}
	if c.OAuth2 != nil {
		check("oauth2.client_secret_file", c.OAuth2.ClientSecretFile, textfile.Password)
	}
	return err
}

// Probe sends a GET and returns an error if no server answers, if it refuses the credentials, or if it fails. Any other
// status is accepted, because servers answer a GET of a URL that takes POSTs in many ways.
func Probe(ctx context.Context, at string, access config.HTTPClientConfig) error {
	client, err := New(Options{Access: &access, Pages: true})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err // without the URL, which may have secrets
	} else if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16))
	switch code := response.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return fmt.Errorf("the server answers %s: check the credentials in http_config_file", response.Status)
	case code >= 500 && code != http.StatusNotImplemented:
		return fmt.Errorf("the server answers %s", response.Status)
	}
	return nil
}
