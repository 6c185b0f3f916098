package sender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// authorized returns a context whose calls carry the token in a file, or ctx if tokenFile is "". The file is read for
// each connection, so that a token can be replaced without a restart.
func authorized(ctx context.Context, tokenFile string) (context.Context, error) {
	if tokenFile == "" {
		return ctx, nil
	}
	token, err := textfile.Token(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("the token: %w", err)
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), nil
}

// Credentials returns the transport credentials for the settings. An error names the file that cannot be used.
func (t TLS) Credentials() (credentials.TransportCredentials, error) {
	if !t.Enabled {
		return insecure.NewCredentials(), nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := textfile.Read(t.CA, textfile.Most)
		if err != nil {
			return nil, fmt.Errorf("the CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("CA file " + t.CA + " contains no PEM certificate")
		}
	}
	if t.Cert != "" {
		pair, err := loadPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", t.Cert, t.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// loadPair is like tls.LoadX509KeyPair, for files that may begin with a byte order mark.
func loadPair(cert, key string) (pair tls.Certificate, err error) {
	shown, err := textfile.Read(cert, textfile.Most)
	if err != nil {
		return pair, err
	}
	secret, err := textfile.Read(key, textfile.Most)
	if err != nil {
		return pair, err
	}
	return tls.X509KeyPair(shown, secret)
}
