package ingest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

// TLSFiles are PEM files. They are read again when one of them changes; a set that has become unreadable or does not fit
// leaves the one before in use.
type TLSFiles struct {
	Cert, Key string
	// ClientCA makes TLS mutual: clients must have a certificate that it signed. Empty asks for none.
	ClientCA string
}

// keeper holds the configuration made from the files as they last were.
type keeper struct {
	files TLSFiles
	now   func() time.Time

	mu      sync.Mutex
	config  *tls.Config
	stamps  [3]fileStamp
	checked time.Time
}

// credentials are gRPC's for these files. It fails when they cannot be used.
func (f TLSFiles) credentials(now func() time.Time) (credentials.TransportCredentials, error) {
	k := &keeper{files: f, now: now}
	if err := k.load(); err != nil {
		return nil, err
	}
	return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.current(), nil }}), nil
}

// current is the configuration for a new connection.
func (k *keeper) current() *tls.Config {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); now.Sub(k.checked).Abs() >= recheckEvery {
		k.checked = now
		if stamps, err := k.files.stamps(); err == nil && stamps != k.stamps {
			_ = k.load()
		}
	}
	return k.config
}

func (k *keeper) load() error {
	stamps, err := k.files.stamps()
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	config, err := k.files.config()
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	k.config, k.stamps = config, stamps
	return nil
}

func (f TLSFiles) stamps() (stamps [3]fileStamp, err error) {
	for i, path := range []string{f.Cert, f.Key, f.ClientCA} {
		if path == "" {
			continue
		}
		if stamps[i], err = stampOf(path); err != nil {
			return stamps, err
		}
	}
	return stamps, nil
}

func (f TLSFiles) config() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}}
	if f.ClientCA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(f.ClientCA)
	if err != nil {
		return nil, err
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, errors.New("client CA file " + f.ClientCA + " holds no PEM certificate")
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	return config, nil
}
