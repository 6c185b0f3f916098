package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// Local refuses what a browser sends for a page of somebody else's, whatever is asked for: requests that call this
// server by a name that is not its own, since a page elsewhere may have its name resolve to our address (DNS
// rebinding), and requests that another site's page makes. hosts are the names (without port) that are its own beside
// localhost; an address is no name. navigable reports which requests a link on another site may be. refused is called
// with each that is refused.
func Local(hosts []string, navigable func(*http.Request) bool, refused func(access.Reason, *http.Request, string),
	next http.Handler) http.Handler {
	// a client that names none speaks HTTP/1.0, and is no browser
	allowed := map[string]bool{"localhost": true, "": true}
	for _, h := range hosts {
		allowed[canonicalHost(h)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := canonicalHost(r.Host)
		if !allowed[host] && net.ParseIP(host) == nil {
			refused(access.ForeignHost, r, "called by the name "+host)
			http.Error(w, fmt.Sprintf(
				"This server does not answer to the name %q. http.allowed_hosts lists further names.", host),
				http.StatusForbidden)
			return
		}
		if from, cross := crossSite(r, hosts); cross && !(isLink(r) && navigable(r)) {
			refused(access.CrossSite, r, "asked for by a page of "+from)
			http.Error(w, "This server does not answer to pages of other sites.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// crossSite reports whether another site's page made the request, and which site where known. Browsers send
// Sec-Fetch-Site where the connection is encrypted or local, and otherwise Origin; other clients send neither.
func crossSite(r *http.Request, hosts []string) (from string, cross bool) {
	origin := r.Header.Get("Origin")
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return "", false
	case "":
		u, err := url.Parse(origin)
		if origin == "" || err == nil && strings.EqualFold(u.Host, r.Host) {
			return "", false
		}
		for _, h := range hosts { // a proxy before us may have another name or port
			if err == nil && canonicalHost(u.Host) == canonicalHost(h) {
				return "", false
			}
		}
	}
	if origin == "" {
		origin = "another site"
	}
	return origin, true
}

// isLink reports whether a browser asks for a page of its own, as after a click: the site that it comes from sees
// nothing of the answer.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// canonicalHost is a host without port, brackets and a closing dot, in lower case.
func canonicalHost(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
