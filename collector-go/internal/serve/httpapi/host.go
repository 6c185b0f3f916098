package httpapi

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/access"
)

// Local refuses requests that a browser sends on behalf of a foreign page, for every route. There are two kinds. A
// request may use a host name that is not one of this server's. A foreign page can let its own name resolve to our
// address (DNS rebinding). Or another site's page makes the request.
//
// hosts are the server's own names without port, in addition to localhost. IP addresses are always accepted. navigable
// reports which requests may come from a link on another site. refused is called for each refused request.
func Local(hosts []string, navigable func(*http.Request) bool, refused func(access.Reason, *http.Request, string),
	next http.Handler) http.Handler {
	// "" is allowed because an HTTP/1.0 client sends no name, and such a client is not a browser.
	allowed := map[string]bool{"localhost": true, "": true}
	for _, h := range hosts {
		allowed[canonicalHost(h)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := canonicalHost(r.Host)
		if !allowed[host] && net.ParseIP(host) == nil {
			refused(access.ForeignHost, r, "called by the name "+host)
			http.Error(w, fmt.Sprintf(
				"Unknown host name %q. Add it to http.allowed_hosts to accept it.", host),
				http.StatusForbidden)
			return
		}
		if from, cross := crossSite(r, hosts); cross && !(isLink(r) && navigable(r)) {
			refused(access.CrossSite, r, "asked for by a page of "+from)
			http.Error(w, "Requests from other sites are refused.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// crossSite reports whether another site's page made the request, and the origin of that page if it is known. Browsers
// send Sec-Fetch-Site if the connection is encrypted or local, and otherwise Origin. Other clients send neither.
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
		for _, h := range hosts { // a reverse proxy may have another name or port
			if err == nil && canonicalHost(u.Host) == canonicalHost(h) {
				return "", false
			}
		}
	}
	origin = cmp.Or(origin, "another site")
	return origin, true
}

// isLink reports whether a browser navigates to a page, for example after a click. The site that has the link cannot
// read the answer.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// canonicalHost returns the host in lower case, without port, brackets and final dot.
func canonicalHost(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
