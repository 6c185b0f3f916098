// Package nimbus asks Storm's Nimbus which topologies there are. It speaks as much of Thrift as that one question takes, without SASL, and never
// knows what the answer is for.
package nimbus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Topology is one that Nimbus has.
type Topology struct {
	ID, Name string
	Status   string // "ACTIVE", "INACTIVE", "REBALANCING", "KILLED"
}

// Killed means that somebody killed it: Storm lets its workers go on for a while.
func (t Topology) Killed() bool { return t.Status == "KILLED" }

const (
	timeout   = 10 * time.Second // of one Nimbus
	mostBytes = 64 << 20         // of its answer
)

// Topologies are those of the first Nimbus of the addresses that answers. The error has what each of them said.
func Topologies(ctx context.Context, addresses []string) ([]Topology, error) {
	var failures []error
	for _, address := range addresses {
		found, err := ask(ctx, address)
		if err == nil {
			return found, nil
		}
		failures = append(failures, fmt.Errorf("ask Nimbus at %s: %w", address, err))
	}
	return nil, errors.Join(failures...)
}

func ask(ctx context.Context, address string) ([]Topology, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	deadline, _ := ctx.Deadline()
	if err := connection.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if _, err := connection.Write(call("getClusterInfo")); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(connection, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > mostBytes {
		return nil, fmt.Errorf("an answer of %d bytes: is this Nimbus' Thrift port (nimbus.thrift.port), without SASL?", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(connection, frame); err != nil {
		return nil, err
	}
	return clusterInfo(frame)
}
