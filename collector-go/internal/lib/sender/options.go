package sender

import (
	"errors"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
)

// Options say where samples go and whose they are.
type Options struct {
	// Address is the collector's gRPC, "host:port".
	Address string
	// Topology is the topology's name; Host names the sender, as a place that is no worker's: its port is 0.
	Topology, Host string
	// Component is the value of the samples' label "component".
	Component string
	// Version is reported to the collector.
	Version string
	// TLS is how the connection is protected; its zero value is plain text.
	TLS TLS
	// TokenFile holds the token that the collector wants, on one line; "" for none. It is read at each
	// connection.
	TokenFile string
	// QueueBatches bounds what waits for a collector that is away; the oldest go first.
	QueueBatches int
	// Expiry is how long a batch is kept, as the protocol has it.
	Expiry time.Duration
	// MinBackoff and MaxBackoff bound the pause before the next connection, which doubles.
	MinBackoff, MaxBackoff time.Duration
}

// TLS are PEM files.
type TLS struct {
	// Enabled selects TLS for the connection; CA, if not "", replaces the system's roots.
	Enabled bool
	CA      string
	// Cert and Key are for a collector that asks clients for a certificate.
	Cert, Key string
	// ServerName is what the collector's certificate must be for; "" for the address' host.
	ServerName string
}

// DefaultOptions hold an hour of batches that come every 10 s.
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
		return errors.New("samples need a topology, a host and a component")
	case o.QueueBatches < 1 || o.Expiry <= 0 || o.MinBackoff <= 0 || o.MaxBackoff < o.MinBackoff:
		return errors.New("the sender's bounds must be above 0")
	case (o.TLS.Cert == "") != (o.TLS.Key == ""):
		return errors.New("a client's certificate needs its key, and a key its certificate")
	case !o.TLS.Enabled && (o.TLS.CA != "" || o.TLS.Cert != "" || o.TLS.ServerName != ""):
		return errors.New("a CA, a certificate or a server's name is for TLS, which is not switched on")
	}
	return nil
}
