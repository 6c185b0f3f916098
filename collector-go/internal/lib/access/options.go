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

// The ports, as in settings and metrics.
const (
	GRPC = "grpc"
	HTTP = "http"
)

// Options are the settings of a port's guard. The files are checked periodically while the port is open.
type Options struct {
	Port   string // GRPC or HTTP; errors use it as the prefix of settings
	Listen string // HOST:PORT
	// Insecure allows a port that admits everybody, and a port without TLS on a non-loopback address.
	Insecure bool
	// TokenFile grants scopes to tokens, certificates and users; "" for none.
	TokenFile string
	// WriteTokenFile applies to writers if TokenFile is "". It is the token file of the gRPC port.
	WriteTokenFile string
	// WebConfigFile has the format of prometheus/exporter-toolkit: TLS, client certificates, users, headers. It is
	// only for the HTTP port.
	WebConfigFile string
	// TLS are the files that the gRPC settings name; the zero value means no TLS.
	TLS TLSFiles

	Now        func() time.Time      // nil: time.Now
	Logger     *slog.Logger          // nil: no log
	Registerer prometheus.Registerer // nil: no metrics
}

// TLSFiles are the paths of PEM files.
type TLSFiles struct {
	Cert, Key string
	// ClientCA makes TLS mutual: clients need a certificate that this authority issued. "" means that clients need
	// none.
	ClientCA string
}

// The accepted values of client_auth_type. The other values request certificates without verifying them.
const (
	askNobody     = "NoClientCert"
	verifyIfShown = "VerifyClientCertIfGiven"
	verifyAlways  = "RequireAndVerifyClientCert"
)

// tlsConfig returns the gRPC settings in the form of a web configuration file.
func (f TLSFiles) tlsConfig() web.TLSConfig {
	c := defaultWeb().TLSConfig
	c.TLSCertPath, c.TLSKeyPath, c.ClientCAs = f.Cert, f.Key, f.ClientCA
	if f.ClientCA != "" {
		c.ClientAuth = verifyAlways
	}
	return c
}

// check refuses settings that admit everybody, unless Insecure is set.
func (o Options) check(i *identity) error {
	encrypted, hint := i.tls.IsEnabled(), hints[o.Port]
	knows := i.grants != nil || len(i.users) > 0 || (o.Port == HTTP && i.tls.ClientAuth == verifyAlways)
	switch {
	case o.Insecure:
		return nil
	case o.Port == GRPC && i.tls.ClientCAs != "" && i.grants == nil:
		return errors.New("grpc.tls.client_ca_file is set without grpc.token_file: every certificate of that CA could write for every topology; " +
			"set grpc.token_file, with a line \"cert:NAME write TOPOLOGY\" for each sender, or \"cert:* write\" to allow this")
	case encrypted && !knows:
		return fmt.Errorf("%s.listen is %s with TLS but without authentication: everybody could connect; %s, or set --%s-insecure",
			o.Port, o.Listen, hint.credentials, o.Port)
	case !encrypted && !isLoopback(o.Listen):
		return fmt.Errorf("%s.listen is %s: other machines could connect without TLS; %s, listen on 127.0.0.1, or set --%s-insecure",
			o.Port, o.Listen, hint.tls, o.Port)
	}
	return nil
}

// hints name the settings that make a port require credentials, and those that enable TLS.
var hints = map[string]struct{ credentials, tls string }{
	GRPC: {"set grpc.token_file", "set grpc.tls.cert_file, grpc.tls.key_file and grpc.token_file"},
	HTTP: {"set http.token_file, or basic_auth_users or client_auth_type in http.web_config_file",
		"set tls_server_config in http.web_config_file, and http.token_file or basic_auth_users"},
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
