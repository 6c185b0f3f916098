// Package nimbus asks Storm's Nimbus which topologies exist, what settings they were submitted with, and which errors
// their components reported. It implements only the part of Thrift that these calls need, without SASL, so that the
// program needs neither a Thrift library nor Storm's client.
//
// Answers are bounded in size and time, since the address may lead to a different server. The package must not know
// what the answers are used for. Start with Topologies; thrift.go is the encoding.
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

// Topology is one that Nimbus has.
type Topology struct {
	ID, Name string
	Status   string // "ACTIVE", "INACTIVE", "REBALANCING", "KILLED"
	Uptime   time.Duration
}

// Killed means that somebody killed it: Storm lets its workers go on for a while.
func (t Topology) Killed() bool { return t.Status == "KILLED" }

const (
	timeout   = 10 * time.Second // of one Nimbus
	mostBytes = 64 << 20         // of its answer
)

// Topologies asks the addresses in turn and returns the topologies of the first Nimbus that answers. The error lists
// what each address answered.
func Topologies(ctx context.Context, addresses []string) ([]Topology, error) {
	return first(ctx, addresses, call("getClusterInfo"), clusterInfo)
}

// Conf is what a topology of that id was submitted with: its own settings over the cluster's.
func Conf(ctx context.Context, addresses []string, id string) (map[string]any, error) {
	return first(ctx, addresses, call("getTopologyConf", id), topologyConf)
}

// ComponentError is what a component of a topology reported last.
type ComponentError struct {
	Component string
	Text      string // Java's stack trace
	Time      time.Time
}

// Cause is the last "Caused by" of the trace; "" where there is none.
func (e ComponentError) Cause() string {
	at := strings.LastIndex(e.Text, "Caused by: ")
	if at < 0 {
		return ""
	}
	line, _, _ := strings.Cut(e.Text[at:], "\n")
	return strings.TrimSpace(line)
}

// Errors are those that the components of a topology of that id reported, the newest first.
func Errors(ctx context.Context, addresses []string, id string) ([]ComponentError, error) {
	return first(ctx, addresses, call("getTopologyInfo", id), topologyErrors)
}

// first is the answer of the first Nimbus that gives one.
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
		failures = append(failures, fmt.Errorf("ask Nimbus at %s: %w", address, err))
	}
	return none, errors.Join(failures...)
}

// ask returns the frame of an answer.
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
			"an answer of %d bytes: is this Nimbus' Thrift port (nimbus.thrift.port), without SASL?", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(connection, frame); err != nil {
		return nil, err
	}
	return frame, nil
}
