package examine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// Time limits for examining a port.
const (
	dialTimeout = 10 * time.Second // including the handshake, which is slow on a busy machine
	// refusalWithin is how long to wait for a server that requires a certificate to close a connection without one.
	refusalWithin = 500 * time.Millisecond
)

// Port examines what listens at one of the plugin's addresses. It starts a TLS handshake. A plain-text server reveals
// its protocol by its answer. ca is the PEM file of the authority to trust, or "" for the system's authorities.
//
// Port sends no sample and needs no token, so that it does no harm to whatever listens there. A second handshake
// without HTTP/2 distinguishes a web server from a collector.
func Port(ctx context.Context, address, ca string) doctor.Port {
	p := doctor.Port{Address: address}
	if p.WithPort, p.Invalid = withPort(address); p.Invalid != "" {
		return p
	}
	state, err := shake(ctx, p.WithPort, "h2", "http/1.1")
	if state == nil {
		p.Protocol, p.Problem = spoken(err)
		return p
	}
	p.Protocol, p.WantsCertificate = doctor.TLSGRPC, errors.Is(err, errWantsCertificate)
	// gRPC never negotiates HTTP/1.1
	if old, _ := shake(ctx, p.WithPort, "http/1.1"); old != nil && old.NegotiatedProtocol == "http/1.1" {
		p.Protocol = doctor.TLSHTTP
	}
	if len(state.PeerCertificates) > 0 {
		p.Untrusted = untrusted(p.WithPort, ca, state.PeerCertificates)
	}
	return p
}

// withPort parses an address exactly as the plugin does (io.github.bulletmetrics.storm.send.Address). Otherwise doctor
// would examine an address that the plugin never uses.
func withPort(address string) (full, invalid string) {
	trimmed := strings.TrimSpace(address)
	if trimmed == "" || trimmed == "<nil>" || strings.ContainsFunc(trimmed, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:%[]", r)
	}) {
		return "", fmt.Sprintf("%q is not an address", address)
	}
	host, port, err := net.SplitHostPort(trimmed)
	if err != nil {
		host, port = strings.Trim(trimmed, "[]"), plugininfo.Port
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || host == "null" ||
		strings.Trim(host, "0123456789") == "" {
		return "", fmt.Sprintf("%q has no host, or an invalid port", address)
	}
	return net.JoinHostPort(host, port), ""
}

var errWantsCertificate = errors.New("the server requires a client certificate")

// shake connects and makes a TLS handshake that accepts any certificate. The caller verifies the certificate with the
// authority that the plugin would use. The state is nil if the handshake failed. With TLS 1.3 a server that requires a
// client certificate closes the connection only after the handshake. Therefore shake waits up to refusalWithin for
// that.
func shake(ctx context.Context, address string, protocols ...string) (*tls.ConnectionState, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	host, _, _ := net.SplitHostPort(address)
	wanted := false
	config := &tls.Config{
		// the caller verifies the certificate
		ServerName: host, NextProtos: protocols, InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			wanted = true
			return &tls.Certificate{}, nil
		},
	}
	client := tls.Client(connection, config)
	if err := client.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	state := client.ConnectionState()
	if wanted {
		_ = client.SetReadDeadline(time.Now().Add(refusalWithin))
		var one [1]byte
		if _, err := client.Read(one[:]); err != nil && strings.Contains(err.Error(), "certificate") {
			return &state, errWantsCertificate
		}
	}
	return &state, nil
}

// spoken returns the protocol of a port with which the handshake failed, according to what the server sent instead of
// a TLS record. The text is the reason for the finding.
func spoken(err error) (doctor.Protocol, string) {
	var record tls.RecordHeaderError
	var dial *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		return doctor.PlainHTTP, "it answers in plain HTTP"
	case errors.As(err, &record) && record.RecordHeader[3] == settingsFrame:
		return doctor.PlainGRPC, "it answers in plain HTTP/2"
	case errors.As(err, &record):
		return doctor.Other, fmt.Sprintf("its answer begins with %q", record.RecordHeader[:])
	case errors.As(err, &name):
		return doctor.Unreachable, "unknown host name"
	case errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout():
		return doctor.Unreachable, "no answer within " + dialTimeout.String()
	case errors.As(err, &dial) && dial.Op == "dial":
		return doctor.Unreachable, dial.Err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return doctor.Unreachable, "it accepts connections, but sends no answer within " + dialTimeout.String()
	case errors.As(err, &dial) && dial.Op == "remote error": // a TLS alert
		return doctor.TLSGRPC, err.Error()
	}
	return doctor.Other, err.Error()
}

// settingsFrame is the type of the HTTP/2 frame with which a server begins a connection.
const settingsFrame = 4

// untrusted returns why a server's certificate cannot be verified for the host of an address, or "" if it can. It
// verifies as the plugin would, with the configured authority or with this machine's authorities. It ignores an
// unreadable file of the authority, because another check reports that.
func untrusted(address, ca string, shown []*x509.Certificate) string {
	host, _, _ := net.SplitHostPort(address)
	options := x509.VerifyOptions{DNSName: host, Intermediates: x509.NewCertPool()}
	for _, between := range shown[1:] {
		options.Intermediates.AddCert(between)
	}
	if ca != "" {
		text, err := textfile.Read(ca, textfile.Most)
		if err != nil {
			return "" // another check reports it
		}
		options.Roots = x509.NewCertPool()
		if !options.Roots.AppendCertsFromPEM(text) {
			return ca + " contains no PEM certificate"
		}
	}
	if _, err := shown[0].Verify(options); err != nil {
		return err.Error()
	}
	return ""
}
