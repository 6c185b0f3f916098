package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/exporter-toolkit/web"
)

// The ports, as settings and figures name them.
const (
	GRPC = "grpc"
	HTTP = "http"
)

// Options are what a port goes by. Files are looked at again while the port is open.
type Options struct {
	Port   string // GRPC or HTTP; the settings in errors are named by it
	Listen string // HOST:PORT
	// Insecure lets everybody in where nothing else is set, and plain text out where others can read it.
	Insecure bool
	// TokenFile grants tokens, certificates and users their scopes; "" for none.
	TokenFile string
	// WriteTokenFile is asked of writers where TokenFile is "": the file of the port that samples come in by.
	WriteTokenFile string
	// WebConfigFile is in the format of prometheus/exporter-toolkit: TLS, client certificates, users, headers. HTTP's
	// alone.
	WebConfigFile string
	// TLS is what gRPC's settings name; its zero value is plain text.
	TLS TLSFiles

	Now        func() time.Time      // nil: time.Now
	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: no figures
}

// TLSFiles are PEM files.
type TLSFiles struct {
	Cert, Key string
	// ClientCA makes TLS mutual: clients must have a certificate that it signed. "" asks for none.
	ClientCA string
}

// The kinds of client_auth_type that ask for nothing, or look at what is shown.
const (
	askNobody     = "NoClientCert"
	verifyIfShown = "VerifyClientCertIfGiven"
	verifyAlways  = "RequireAndVerifyClientCert"
)

// tlsConfig is gRPC's TLS as the web configuration file would say it.
func (f TLSFiles) tlsConfig() web.TLSConfig {
	c := defaultWeb().TLSConfig
	c.TLSCertPath, c.TLSKeyPath, c.ClientCAs = f.Cert, f.Key, f.ClientCA
	if f.ClientCA != "" {
		c.ClientAuth = verifyAlways
	}
	return c
}

// check refuses what would let in everybody, unless that is meant.
func (o Options) check(i *identity) error {
	encrypted := i.tls.IsEnabled()
	knows := i.grants != nil || len(i.users) > 0 || (o.Port == HTTP && i.tls.ClientAuth == verifyAlways)
	switch {
	case o.Insecure:
		return nil
	case o.Port == GRPC && i.tls.ClientCAs != "" && i.grants == nil:
		return errors.New("grpc.tls.client_ca_file alone lets every certificate of that authority write for every topology: " +
			"set grpc.token_file, with a line such as \"cert:NAME write TOPOLOGY\" for each, or \"cert:* write\" where that is meant")
	case encrypted && !knows:
		return fmt.Errorf("%s.listen is %s and speaks TLS, and admits everybody who speaks it: %s, or set --%s-insecure",
			o.Port, o.Listen, o.hint(), o.Port)
	case !encrypted && !isLoopback(o.Listen):
		return fmt.Errorf("%s.listen is %s, which other machines can reach without TLS: %s, listen on 127.0.0.1, or set --%s-insecure",
			o.Port, o.Listen, o.tlsHint(), o.Port)
	}
	return nil
}

// hint says which settings make the port ask who calls.
func (o Options) hint() string {
	if o.Port == GRPC {
		return "set grpc.token_file"
	}
	return "set http.token_file, or basic_auth_users or client_auth_type in http.web_config_file"
}

// tlsHint says which settings encrypt the port.
func (o Options) tlsHint() string {
	if o.Port == GRPC {
		return "set grpc.tls.cert_file, grpc.tls.key_file and grpc.token_file"
	}
	return "set tls_server_config in http.web_config_file, and http.token_file or basic_auth_users"
}

// isLoopback reports whether an address is this machine's alone.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
