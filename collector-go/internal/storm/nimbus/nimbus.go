// Package nimbus queries Storm's Nimbus for its topologies, the settings with which they were submitted, and the
// errors that their components reported. It implements only the part of Thrift that these calls need, without SASL, so
// that the program needs neither a Thrift library nor Storm's client.
//
// Answers are limited in size and time, because the address may belong to a different server. The package must not
// know what the answers are used for. Start with Topologies; thrift.go has the encoding.
package nimbus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Topology is a topology that Nimbus knows.
type Topology struct {
	ID, Name string
	Status   string // "ACTIVE", "INACTIVE", "REBALANCING", "KILLED"
	Uptime   time.Duration
}

// Killed reports whether the topology was killed. Storm lets its workers run on for a while.
func (t Topology) Killed() bool { return t.Status == "KILLED" }

const (
	timeout   = 10 * time.Second // for one Nimbus
	mostBytes = 64 << 20         // of an answer
)

// Topologies tries the addresses in order and returns the topologies of the first Nimbus that answers. The error lists
// the failures of all addresses.
func Topologies(ctx context.Context, addresses []string) ([]Topology, error) {
	return first(ctx, addresses, call("getClusterInfo"), clusterInfo)
}

// Conf returns the configuration of the topology with that id: its own settings merged over those of the cluster.
func Conf(ctx context.Context, addresses []string, id string) (map[string]any, error) {
	return first(ctx, addresses, call("getTopologyConf", id), topologyConf)
}

// ComponentError is an error that a component of a topology reported.
type ComponentError struct {
	Component string
	Text      string // a Java stack trace
	Time      time.Time
}

// Cause returns the last "Caused by" line of the stack trace, or "" if there is none.
func (e ComponentError) Cause() string {
	at := strings.LastIndex(e.Text, "Caused by: ")
	if at < 0 {
		return ""
	}
	line, _, _ := strings.Cut(e.Text[at:], "\n")
	return strings.TrimSpace(line)
}

// Errors returns the errors of the components of the topology with that id, newest first.
func Errors(ctx context.Context, addresses []string, id string) ([]ComponentError, error) {
	return first(ctx, addresses, call("getTopologyInfo", id), topologyErrors)
}

// first returns the answer of the first Nimbus that gives a valid one.
func first[T any](ctx context.Context, addresses []string, question []byte, read func([]byte) (T, error)) (T, error) {
	var none T
	var failures []error
	for _, address := range addresses {
		frame, err := ask(ctx, address, question)
		if err == nil {
			var found T
			if found, err = read(frame); err == nil {
				return found, nil
			}
		}
		failures = append(failures, fmt.Errorf("query Nimbus at %s: %w", address, err))
	}
	return none, errors.Join(failures...)
}

// ask sends a question and returns the frame of the answer.
func ask(ctx context.Context, address string, question []byte) ([]byte, error) {
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
	if _, err := connection.Write(question); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(connection, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > mostBytes {
		return nil, fmt.Errorf(
			"answer of %d bytes exceeds the limit; check that this is Nimbus' Thrift port (nimbus.thrift.port), without SASL", n)
	}
	frame := make([]byte, n)
	_, err = io.ReadFull(connection, frame)
	return frame, err
}
