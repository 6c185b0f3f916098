package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// checkHost refuses requests that call this server by a name that is not its own: a page elsewhere that has its name resolve
// to our address (DNS rebinding) must not read the topology's figures through a visitor's browser. An address is no name.
func checkHost(hosts []string, next http.Handler) http.Handler {
	allowed := map[string]bool{"localhost": true, "": true} // a client that names none speaks HTTP/1.0, and is no browser
	for _, h := range hosts {
		allowed[canonicalHost(h)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := canonicalHost(r.Host); !allowed[host] && net.ParseIP(host) == nil {
			http.Error(w, fmt.Sprintf("This server does not answer to the name %q. http.allowed_hosts lists further names.", host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
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
