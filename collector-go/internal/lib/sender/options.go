package sender

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// Options are the destination and the identity of samples.
type Options struct {
	// Address is the collector's gRPC address, "host:port".
	Address string
	// Topology is the topology's name. Host identifies the sender; its port is 0, so that it cannot be confused with a
	// worker.
	Topology, Host string
	// Component is the value of the samples' label "component".
	Component string
	// Version is the sender's version, which is reported to the collector.
	Version string
	// TLS protects the connection; its zero value means no TLS.
	TLS TLS
	// TokenFile has the token for the collector, on one line; "" for none. It is read for each connection.
	TokenFile string
	// QueueBatches is the maximum number of batches that wait for a collector. If the queue is full, the oldest
	// batches are dropped.
	QueueBatches int
	// Expiry is the maximum age of a batch, as the protocol defines it.
	Expiry time.Duration
	// MinBackoff and MaxBackoff bound the pause before the next connection attempt, which doubles each time.
	MinBackoff, MaxBackoff time.Duration
}

// TLS has TLS settings with the paths of PEM files.
type TLS struct {
	// Enabled enables TLS. CA replaces the system's authorities if it is not "".
	Enabled bool
	CA      string
	// Cert and Key are the client's certificate, for a collector that requires one.
	Cert, Key string
	// ServerName is the name that the collector's certificate must have; "" means the host of the address.
	ServerName string
}

// DefaultOptions returns options with a queue for one hour of batches that are sent every 10 s.
func DefaultOptions(address, topology, host, component string) Options {
	return Options{
		Address: address, Topology: topology, Host: host, Component: component, QueueBatches: 360, Expiry: time.Hour,
		MinBackoff: 500 * time.Millisecond, MaxBackoff: 30 * time.Second,
	}
}

// Validate returns an error that names the invalid option.
func (o Options) Validate() error {
	if err := address.HostPort(o.Address).Server("127.0.0.1:4320"); err != nil {
		return fmt.Errorf("the collector's address %w", err)
	}
	switch {
	case o.Topology == "" || o.Host == "" || o.Component == "":
		return errors.New("samples require a topology, a host and a component")
	case o.QueueBatches < 1 || o.Expiry <= 0 || o.MinBackoff <= 0 || o.MaxBackoff < o.MinBackoff:
		return errors.New("the sender's limits must be greater than 0")
	case (o.TLS.Cert == "") != (o.TLS.Key == ""):
		return errors.New("a client certificate and its key belong together: set both or neither")
	case !o.TLS.Enabled && (o.TLS.CA != "" || o.TLS.Cert != "" || o.TLS.ServerName != ""):
		return errors.New("a CA, a certificate or a server name requires TLS")
	}
	return nil
}

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
