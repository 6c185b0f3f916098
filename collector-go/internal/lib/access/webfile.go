package access

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/crypto/bcrypt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// defaultWeb returns the defaults of a web configuration file. TLS below 1.2 is never offered.
func defaultWeb() web.Config {
	return web.Config{TLSConfig: web.TLSConfig{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS13},
		HTTPConfig: web.HTTPConfig{HTTP2: true}}
}

// readWeb parses a web configuration file. Errors name the file, and if possible the line and the nearest known key.
// They never repeat a value.
func readWeb(path string, text []byte) (web.Config, error) {
	c := defaultWeb()
	if len(bytes.TrimSpace(text)) == 0 {
		return c, fmt.Errorf("%s: the file is empty", path)
	}
	if err := yamlfile.Decode(text, &c, yaml.Strict()); err != nil {
		return c, webFault(path, err)
	}
	if err := errors.Join(checkWebTLS(c.TLSConfig), checkUsers(c), checkHeaders(c.HTTPConfig.Header)); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	c.TLSConfig.SetDirectory(filepath.Dir(path))
	return c, nil
}

var (
	faultPlace   = regexp.MustCompile(`^\[(\d+):\d+\] (.*)`)
	unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)
)

// webFault returns the YAML library's message with the file and line. It omits the part that shows the source, which
// may contain passwords.
func webFault(path string, err error) error {
	first := yamlfile.FirstLine(err)
	place := faultPlace.FindStringSubmatch(first)
	if place == nil {
		return fmt.Errorf("%s: %s", path, first)
	}
	message := place[2]
	if field := unknownField.FindStringSubmatch(message); field != nil {
		message = fmt.Sprintf("unknown field %q; did you mean %q?", field[1], yamlfile.Nearest(field[1], webFields...))
	}
	return fmt.Errorf("%s:%s: %s", path, place[1], message)
}

// webFields are the known keys of a web configuration file, without those of users and headers.
var webFields = fieldsOf(reflect.TypeFor[web.Config]())

// fieldsOf returns the keys in exporter-toolkit's own types, so that a suggestion is always a key that it knows.
func fieldsOf(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		names = append(names, name)
		if f.Type.Kind() == reflect.Struct {
			names = append(names, fieldsOf(f.Type)...)
		}
	}
	return names
}

// checkWebTLS refuses TLS settings that are incomplete, contradict each other, or request certificates without
// verifying them.
func checkWebTLS(c web.TLSConfig) error {
	authority := c.ClientCAs != "" || c.ClientCAsText != ""
	switch {
	case !c.IsEnabled():
		return nil
	case c.MinVersion < tls.VersionTLS12 || c.MaxVersion < c.MinVersion:
		return errors.New("tls_server_config.min_version must be TLS12 or TLS13, and max_version not below it")
	case (c.TLSCertPath == "") == (c.TLSCert == "") || (c.TLSKeyPath == "") == (c.TLSKey == ""):
		return errors.New("tls_server_config requires a certificate (cert_file or cert) and a key (key_file or key)")
	case !slices.Contains([]string{"", askNobody, verifyIfShown, verifyAlways}, c.ClientAuth):
		return fmt.Errorf("tls_server_config.client_auth_type %.40q does not verify certificates, or is unknown; use %s, %s or %s",
			c.ClientAuth, askNobody, verifyIfShown, verifyAlways)
	case asks(c) != authority:
		return fmt.Errorf("tls_server_config.client_auth_type %s and client_ca_file belong together: set both or neither",
			verifyAlways)
	case len(c.ClientAllowedSans) > 0 && !asks(c):
		return errors.New("tls_server_config.client_allowed_sans requires client_auth_type and client_ca_file")
	}
	return nil
}

// asks reports whether clients' certificates are verified.
func asks(c web.TLSConfig) bool { return c.ClientAuth == verifyIfShown || c.ClientAuth == verifyAlways }

// checkUsers refuses passwords that are not bcrypt hashes, for example in plain text. The error names the user but
// never repeats the password.
func checkUsers(c web.Config) (err error) {
	for _, user := range slices.Sorted(maps.Keys(c.Users)) {
		if _, wrong := bcrypt.Cost([]byte(c.Users[user])); wrong != nil {
			err = errors.Join(err,
				fmt.Errorf("basic_auth_users.%s: the password is not a bcrypt hash; htpasswd -nBC 10 \"\" makes one",
					user))
		}
	}
	return err
}

// configurable are the headers that exporter-toolkit allows in a file. If only certain values are valid, they are
// listed.
var configurable = map[string][]string{
	"Strict-Transport-Security": nil, "X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"deny", "sameorigin"},
	"X-XSS-Protection": nil, "Content-Security-Policy": nil,
}

// checkHeaders refuses headers that exporter-toolkit does not allow, and invalid values.
func checkHeaders(headers map[string]string) (err error) {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		values, known := configurable[name]
		switch {
		case !known:
			err = errors.Join(err, fmt.Errorf("http_server_config.headers: %q cannot be set; did you mean %q?", name,
				yamlfile.Nearest(name, slices.Sorted(maps.Keys(configurable))...)))
		case values != nil && !slices.Contains(values, headers[name]):
			err = errors.Join(err, fmt.Errorf("http_server_config.headers: %s must be one of %s", name,
				strings.Join(values, ", ")))
		}
	}
	return err
}
