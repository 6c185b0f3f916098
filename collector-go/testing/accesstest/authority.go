// Package accesstest makes what tests of security need: authorities, certificates and token files.
package accesstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority signs certificates.
type Authority struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// NewAuthority makes one.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &Authority{t, certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// Issue writes a certificate for 127.0.0.1, a server's and a client's, and its key into dir.
func (a *Authority) Issue(dir, name string, expires time.Time) (certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: expires, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	require.NoError(a.t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(a.t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		0o600))
	return certFile, keyFile
}

// Pair is an issued certificate as a client holds it.
func (a *Authority) Pair(name string, expires time.Time) tls.Certificate {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Issue(a.t.TempDir(), name, expires))
	require.NoError(a.t, err)
	return pair
}

// Pool holds the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// File writes the authority's certificate into dir.
func (a *Authority) File(dir string) string {
	a.t.Helper()
	path := filepath.Join(dir, a.certificate.Subject.CommonName+".ca")
	require.NoError(a.t, os.WriteFile(path, a.pem, 0o600))
	return path
}

// TokenFile writes a token file whose lines are "TOKEN SCOPES [TOPOLOGY ...]", the tokens as they are, and "cert:" and
// "user:" lines.
func TokenFile(t testing.TB, path string, lines ...string) string {
	t.Helper()
	text := "# who may do what\n\n"
	for _, line := range lines {
		who, rest, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(who, "cert:") && !strings.HasPrefix(who, "user:") {
			who = fmt.Sprintf("%x", sha256.Sum256([]byte(who)))
		}
		text += who + " " + rest + "\n"
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// PasswordHash is bcrypt's, at its least cost, of "password".
const PasswordHash = "$2a$04$cOFDQ2KdATGSL64QphE3g.5CT5StZjHk8fCOsU7tdMqvowQFI.dOG"
