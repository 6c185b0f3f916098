package chaos

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
	"time"
)

// authority signs certificates of a trial.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, err
}

// issue makes a certificate for 127.0.0.1, a server's and a client's, that is good until a time.
func (a *authority) issue(name string, until time.Time) (cert, key []byte, err error) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &own.PublicKey, a.key)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(own)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), err
}

// client is a certificate as a client holds it.
func (a *authority) client(name string, until time.Time) (tls.Certificate, error) {
	cert, key, err := a.issue(name, until)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// serve writes a server's new certificate, and its key, into a directory, as an operator would: each aside and renamed.
func (a *authority) serve(dir string) error {
	cert, key, err := a.issue("server", time.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	if err := replace(filepath.Join(dir, "server.key"), key); err != nil {
		return err
	}
	return replace(filepath.Join(dir, "server.crt"), cert)
}

// replace puts a file in another's place at once.
func replace(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// tokenFile is one whose lines are "TOKEN SCOPES [TOPOLOGY ...]" or "cert:NAME ...".
func tokenFile(lines ...string) []byte {
	var text strings.Builder
	for _, line := range lines {
		who, rest, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(who, "cert:") {
			who = fmt.Sprintf("%x", sha256.Sum256([]byte(who)))
		}
		text.WriteString(who + " " + rest + "\n")
	}
	return []byte(text.String())
}
