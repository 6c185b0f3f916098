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

// Bounds of a look at a port.
const (
	dialTimeout = 10 * time.Second // with the handshake: a machine that others have most of is slow
	// in which a collector that wants a certificate ends a connection without one
	refusalWithin = 500 * time.Millisecond
)

// Port looks at what listens at one of the plugin's addresses, by a TLS handshake: who speaks plain text gives that
// away in what comes instead of an answer. ca is the PEM file of the authority to trust, "" for the system's.
//
// It sends no sample and needs no token, so that it does no harm to whatever listens there. A second handshake without
// HTTP/2 distinguishes a web server from a collector.
func Port(ctx context.Context, address, ca string) doctor.Port {
	p := doctor.Port{Address: address}
	if p.WithPort, p.Invalid = withPort(address); p.Invalid != "" {
		return p
	}
	state, err := shake(ctx, p.WithPort, "h2", "http/1.1")
	if state == nil {
		p.Speaks, p.Problem = spoken(err)
		return p
	}
	p.Speaks, p.WantsCertificate = doctor.TLSGRPC, errors.Is(err, errWantsCertificate)
	// which gRPC never speaks
	if old, _ := shake(ctx, p.WithPort, "http/1.1"); old != nil && old.NegotiatedProtocol == "http/1.1" {
		p.Speaks = doctor.TLSHTTP
	}
	if len(state.PeerCertificates) > 0 {
		p.Untrusted = untrusted(p.WithPort, ca, state.PeerCertificates)
	}
	return p
}

// withPort reads an address as the plugin does (io.github.bulletmetrics.storm.send.Address). Another reading would
// judge an address that the plugin never uses.
func withPort(address string) (full, invalid string) {
	trimmed := strings.TrimSpace(address)
	if trimmed == "" || trimmed == "<nil>" || strings.ContainsFunc(trimmed, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:%[]", r)
	}) {
		return "", fmt.Sprintf("%q is no address", address)
	}
	host, port, err := net.SplitHostPort(trimmed)
	if err != nil {
		host, port = strings.Trim(trimmed, "[]"), plugininfo.Port
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || host == "null" ||
		strings.Trim(host, "0123456789") == "" {
		return "", fmt.Sprintf("%q has no host, or no port between 1 and 65535 after its colon", address)
	}
	return net.JoinHostPort(host, port), ""
}

var errWantsCertificate = errors.New("a client's certificate is wanted")

// shake dials and shakes hands, whoever signed what is shown: the certificate is verified by who asked, with the
// authority that the plugin would use. The state is nil where no handshake came about. With TLS 1.3 a server that wants
// a certificate ends the connection only after the handshake, so refusalWithin is waited for that end.
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
		// what is shown is verified, and judged, by who asked
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

// spoken is what a port speaks with which no handshake came about, by what came instead of a TLS record. The text is
// the reason, for the finding.
func spoken(err error) (doctor.Speech, string) {
	var record tls.RecordHeaderError
	var dial *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		return doctor.PlainHTTP, "it answers in plain HTTP"
	case errors.As(err, &record) && record.RecordHeader[3] == settingsFrame:
		return doctor.PlainGRPC, "it answers in plain HTTP/2"
	case errors.As(err, &record):
		return doctor.Other, fmt.Sprintf("it begins with %q", record.RecordHeader[:])
	case errors.As(err, &name):
		return doctor.Nobody, "its name leads to no host"
	case errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout():
		return doctor.Nobody, "no answer within " + dialTimeout.String()
	case errors.As(err, &dial) && dial.Op == "dial":
		return doctor.Nobody, dial.Err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return doctor.Nobody, "it takes connections, and answers nothing within " + dialTimeout.String()
	case errors.As(err, &dial) && dial.Op == "remote error": // an alert, which only TLS has
		return doctor.TLSGRPC, err.Error()
	}
	return doctor.Other, err.Error()
}

// settingsFrame is HTTP/2's type of the frame that begins a server's side of a connection.
const settingsFrame = 4

// untrusted is why certificates do not lead to an authority for the host of an address; "" where they do. It verifies
// as the plugin would, with the settings' authority or else this machine's own. A file of the authority that cannot be
// read is a finding of its own.
func untrusted(address, ca string, shown []*x509.Certificate) string {
	host, _, _ := net.SplitHostPort(address)
	options := x509.VerifyOptions{DNSName: host, Intermediates: x509.NewCertPool()}
	for _, between := range shown[1:] {
		options.Intermediates.AddCert(between)
	}
	if ca != "" {
		text, err := textfile.Read(ca, textfile.Most)
		if err != nil {
			return "" // that file is a finding of its own
		}
		options.Roots = x509.NewCertPool()
		if !options.Roots.AppendCertsFromPEM(text) {
			return ca + " has no PEM certificate"
		}
	}
	if _, err := shown[0].Verify(options); err != nil {
		return err.Error()
	}
	return ""
}
