package access

import (
	"crypto/x509"
	"strings"
)

// Handshake counts and logs a failed TLS handshake.
func (g *Guard) Handshake(peer string, err error) { g.HandshakeText(peer, err.Error()) }

// HandshakeText is like Handshake, for an error of which only the text is known.
func (g *Guard) HandshakeText(peer, text string) { g.refusals.note(handshakeReason(text), peer, text) }

// handshakeReason classifies an error by its text, because most errors of crypto/tls have no type and net/http passes
// on only the text.
func handshakeReason(text string) Reason {
	for _, known := range []struct {
		words  string
		reason Reason
	}{
		{"cannot determine who may enter", Closed},
		{"unsupported versions", HandshakeVersion}, {"protocol version not supported", HandshakeVersion},
		{"remote error: tls: bad certificate", HandshakeClient},
		{"remote error: tls: unknown certificate", HandshakeClient},
		{"remote error: tls: expired certificate", HandshakeClient},
		{"remote error: tls: unknown certificate authority", HandshakeClient},
		{"certificate", HandshakeCertificate}, {"x509:", HandshakeCertificate}, {"allowed SANs", HandshakeCertificate},
		{"first record does not look like a TLS handshake", HandshakePlain},
		{"HTTP request to an HTTPS server", HandshakePlain},
		{"EOF", HandshakeCut}, {"timeout", HandshakeCut}, {"deadline exceeded", HandshakeCut},
		{"reset by peer", HandshakeCut}, {"broken pipe", HandshakeCut},
		{"closed network connection", HandshakeCut},
	} {
		if strings.Contains(text, known.words) {
			return known.reason
		}
	}
	return HandshakeOther
}

// certificateName returns the name of a certificate for logs.
func certificateName(c *x509.Certificate) string {
	if c.Subject.CommonName != "" {
		return c.Subject.CommonName
	}
	names := certificateNames(c)
	return names[0]
}
