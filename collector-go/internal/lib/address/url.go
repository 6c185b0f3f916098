package address

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// URL is the URL of an HTTP server as it was written.
type URL string

// String returns the URL without user, password, query and fragment, each of which may be a secret.
func (u URL) String() string { return hide(string(u)) }

// MarshalText returns the same text as String.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Set implements pflag.Value. It accepts any text; Parse checks it.
func (u *URL) Set(text string) error {
	*u = URL(text)
	return nil
}

// Type implements pflag.Value.
func (u *URL) Type() string { return "string" }

// Form defines what a URL may contain in addition to scheme, host, port and path.
type Form struct {
	// Example is a URL that messages recommend.
	Example string
	// Secrets names the setting or flag for a file with user and password. If it is set, the URL must not contain
	// them.
	Secrets string
	// Query allows a query, such as ?db=bullet.
	Query bool
	// HostPort allows HOST:PORT, which means http://HOST:PORT.
	HostPort bool
}

// Parse checks a URL and returns it completely. Printing the result reveals its secrets.
func (u URL) Parse(form Form) (*url.URL, error) {
	text := string(u)
	if form.HostPort && text != "" && !strings.Contains(text, "://") {
		text = "http://" + text
	}
	read, problem := parseURL(text, form)
	if problem == "" {
		return read, nil
	}
	wanted := "http://HOST:PORT or https://HOST:PORT"
	if form.HostPort {
		wanted = "HOST:PORT, " + wanted
	}
	return nil, fmt.Errorf("%q: %s; use %s, for example %s", u.String(), problem, wanted, form.Example)
}

func parseURL(text string, form Form) (*url.URL, string) {
	scheme, rest, found := strings.Cut(text, "://")
	switch {
	case text == "":
		return nil, "missing URL"
	case !found:
		return nil, "missing scheme"
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return nil, "the scheme is neither http nor https"
	case strings.Contains(rest, ",http://") || strings.Contains(rest, ",https://"):
		return nil, "several URLs where one is expected"
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if strings.Contains(authority, "@") && form.Secrets != "" {
		return nil, "a URL holds no user or password here: they belong in " + form.Secrets
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, parseProblem(err)
	}
	switch {
	case u.Host == "" || u.Hostname() == "":
		return nil, "missing host"
	case strings.ContainsAny(u.Host, ",;"):
		return nil, "several hosts where one is expected"
	case !form.Query && (u.RawQuery != "" || u.ForceQuery):
		return nil, "a URL has no query here"
	case strings.Contains(text, "#"):
		return nil, "a URL has no fragment here"
	}
	if strings.HasSuffix(u.Host, ":") {
		return nil, "missing port after the colon"
	}
	if port := u.Port(); port != "" {
		if problem := portProblem(port, true); problem != "" {
			return nil, problem
		}
	}
	return u, hostProblem(u.Hostname())
}

// parseProblem returns why a text is not a URL. It repeats no part of the text, because the malformed part may be a
// password.
func parseProblem(err error) string {
	var escape url.EscapeError
	var host url.InvalidHostError
	switch {
	case errors.As(err, &escape):
		return "a % is not followed by two hexadecimal digits"
	case errors.As(err, &host) || strings.Contains(err.Error(), "invalid character"):
		return "invalid character in the host name"
	case strings.Contains(err.Error(), "invalid port"):
		return "the port is not a number"
	case strings.Contains(err.Error(), "control character"):
		return "control character"
	}
	return "not a URL"
}

// hidden replaces a secret.
const hidden = "(hidden)"

// hide removes everything before the last "@" except for the scheme, and everything after the beginning of a query or
// fragment. It may remove too much, because an unescaped password may contain any character.
func hide(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if found {
		scheme += "://"
	} else {
		scheme, rest = "", text
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = hidden + rest[at:]
	}
	if end := strings.IndexAny(rest, "?#"); end >= 0 && end < len(rest)-1 {
		rest = rest[:end+1] + hidden
	}
	return scheme + rest
}

var withUser = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)\S*@`)

// Hide removes the user and password from all URLs in a text that other code wrote, such as an error of a library.
func Hide(text string) string { return withUser.ReplaceAllString(text, "${1}"+hidden+"@") }
