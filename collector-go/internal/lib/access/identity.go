package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/config"
	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/time/rate"
)

// identity has all permissions, as read from the token file, the web configuration file, and the clients' authority.
// It is immutable, so that a decision sees a consistent state of the files.
type identity struct {
	grants  *grants // nil if there is no token file
	writers *grants // from the token file that applies only to writers
	users   map[string]config.Secret
	headers map[string]string
	limiter *rate.Limiter // nil: no limit
	tls     web.TLSConfig // the zero value means no TLS
	roots   *x509.CertPool
	rootPEM string
	http2   bool
}

// read makes an identity from the files.
func (o Options) read(files contents) (*identity, error) {
	i, err := o.assemble(files)
	if err != nil {
		return nil, err
	}
	return i, o.check(i)
}

// assemble makes an identity from the files as far as possible, with an error that lists all faults.
func (o Options) assemble(files contents) (*identity, error) {
	i := &identity{}
	var faults []error
	keep := func(err error) { faults = append(faults, err) }
	i.grants = readGrants(files, o.Port+".token_file", o.TokenFile, keep)
	if o.TokenFile == "" {
		i.writers = readGrants(files, GRPC+".token_file", o.WriteTokenFile, keep)
	}
	if o.TLS.Cert != "" {
		i.tls = o.TLS.tlsConfig()
	}
	if o.WebConfigFile != "" {
		i.readWeb(files, o.WebConfigFile, keep)
	}
	i.readRoots(files, keep)
	return i, errors.Join(faults...)
}

// faults returns all faults in the files, including those of the port's certificate.
func (o Options) faults() error {
	files := contents{}
	i, err := o.assemble(files)
	_, bad := readPair(files, i.tls)
	return errors.Join(err, bad)
}

// readGrants reads a token file, if the setting names one. It passes faults to keep, so that the caller can read all
// files before it fails.
func readGrants(files contents, setting, path string, keep func(error)) *grants {
	if path == "" {
		return nil
	}
	text, err := files.read(path)
	if err != nil {
		keep(fmt.Errorf("%s: %w", setting, err))
		return nil
	}
	found, err := parseGrants(path, text)
	if err != nil {
		keep(err)
	}
	return found
}

// readWeb reads TLS settings, users, headers and the rate limit from the web configuration file.
func (i *identity) readWeb(files contents, path string, keep func(error)) {
	text, err := files.read(path)
	if err != nil {
		keep(fmt.Errorf("http.web_config_file: %w", err))
		return
	}
	c, err := readWeb(path, text)
	if err != nil {
		keep(err)
		return
	}
	i.tls, i.users, i.headers, i.http2 = c.TLSConfig, c.Users, c.HTTPConfig.Header, c.HTTPConfig.HTTP2
	if c.RateLimiterConfig.Interval > 0 {
		i.limiter = rate.NewLimiter(rate.Every(c.RateLimiterConfig.Interval), c.RateLimiterConfig.Burst)
	}
}

// readRoots reads the authority that verifies clients' certificates.
func (i *identity) readRoots(files contents, keep func(error)) {
	i.rootPEM = i.tls.ClientCAsText
	if i.tls.ClientCAs != "" {
		text, err := files.read(i.tls.ClientCAs)
		if err != nil {
			keep(fmt.Errorf("client CA: %w", err))
			return
		}
		i.rootPEM = string(text)
	}
	if i.rootPEM == "" && !asks(i.tls) {
		return
	}
	i.roots = x509.NewCertPool()
	if !i.roots.AppendCertsFromPEM([]byte(i.rootPEM)) {
		keep(fmt.Errorf("client CA file %s contains no PEM certificate", i.tls.ClientCAs))
	}
}

// open reports whether the scope needs no credentials.
func (i *identity) open(s Scope) bool {
	asked := i.grants != nil || len(i.users) > 0 || i.tls.ClientAuth == verifyAlways
	if s == Write {
		asked = asked || i.writers != nil
	}
	return !asked
}

// about returns the lines that apply to a scope.
func (i *identity) about(s Scope) *grants {
	if i.grants == nil && s == Write {
		return i.writers
	}
	return i.grants
}

// verify returns the client's certificate, or nil if there is none. It verifies the certificate again, because a
// connection may last longer than the validity of the certificate and of the files.
func (i *identity) verify(state *tls.ConnectionState, now time.Time) (*x509.Certificate, *Refusal) {
	if state == nil || len(state.PeerCertificates) == 0 {
		if i.tls.ClientAuth == verifyAlways {
			return nil, refuse(Certificate, "no certificate was shown")
		}
		return nil, nil
	}
	if i.roots == nil {
		return nil, nil // the port does not verify certificates
	}
	shown := state.PeerCertificates[0]
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := shown.Verify(x509.VerifyOptions{Roots: i.roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err == nil && len(i.tls.ClientAllowedSans) > 0 {
		err = i.tls.VerifyPeerCertificate([][]byte{shown.Raw}, nil)
	}
	if err != nil {
		return nil, refuse(Certificate, "the certificate is not, or no longer, good here: %v", err)
	}
	return shown, nil
}

// pair is the port's own certificate with its key.
type pair struct {
	cert, key string // PEM
	loaded    tls.Certificate
}

// readPair reads the certificate and key in TLS settings. It returns the zero value if TLS is off.
func readPair(files contents, c web.TLSConfig) (p pair, err error) {
	if !c.IsEnabled() {
		return p, nil
	}
	p.cert, p.key = c.TLSCert, string(c.TLSKey)
	for _, one := range []struct {
		path string
		to   *string
	}{{c.TLSCertPath, &p.cert}, {c.TLSKeyPath, &p.key}} {
		if one.path == "" {
			continue
		}
		text, err := files.read(one.path)
		if err != nil {
			return p, fmt.Errorf("tls: %w", err)
		}
		*one.to = string(text)
	}
	p.loaded, err = tls.X509KeyPair([]byte(p.cert), []byte(p.key))
	if err != nil {
		return p, fmt.Errorf("tls: certificate %s with key %s: %w", c.TLSCertPath, c.TLSKeyPath, err)
	}
	return p, nil
}

// config returns the TLS configuration that exporter-toolkit makes from the identity and the pair, without reading
// files again. If clients have certificates, sessions are not resumed: a resumed session would skip the check of a
// revoked certificate.
func (i *identity) config(p pair, protocols []string) (*tls.Config, error) {
	c := i.tls
	c.TLSCertPath, c.TLSKeyPath, c.ClientCAs = "", "", ""
	c.TLSCert, c.TLSKey, c.ClientCAsText = p.cert, config.Secret(p.key), i.rootPEM
	made, err := web.ConfigToTLSConfig(&c)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	made.GetCertificate, made.Certificates, made.NextProtos = nil, []tls.Certificate{p.loaded}, protocols
	made.SessionTicketsDisabled = asks(i.tls)
	return made, nil
}
