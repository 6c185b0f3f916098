package sender

import (
	"errors"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
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
