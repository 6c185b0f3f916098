package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Network is a producer's side and a collector's, with a router between them at which links fail: three network
// namespaces. It needs root and `ip`.
type Network struct {
	producer, router, collector string
}

// Addresses of the two sides.
const (
	producerAddress  = "10.211.1.2"
	collectorAddress = "10.211.2.2"
)

// NewNetwork makes one. It returns an error where this machine has no network namespaces.
func NewNetwork(ctx context.Context) (*Network, error) {
	id := strconv.Itoa(os.Getpid() % 100_000)
	n := &Network{"bmp" + id, "bmr" + id, "bmc" + id}
	for _, name := range []string{n.producer, n.router, n.collector} {
		if err := ip(ctx, "netns", "add", name); err != nil {
			n.Close()
			return nil, err
		}
	}
	for _, line := range []string{
		"link add p netns " + n.producer + " type veth peer name p netns " + n.router,
		"link add c netns " + n.collector + " type veth peer name c netns " + n.router,
		"-n " + n.producer + " addr add " + producerAddress + "/24 dev p", "-n " + n.router +
			" addr add 10.211.1.1/24 dev p",
		"-n " + n.collector + " addr add " + collectorAddress + "/24 dev c", "-n " + n.router +
			" addr add 10.211.2.1/24 dev c",
		"-n " + n.producer + " link set p up", "-n " + n.router + " link set p up", "-n " + n.collector +
			" link set c up", "-n " + n.router + " link set c up",
		"-n " + n.collector + " link set lo up",
		"-n " + n.producer + " route add default via 10.211.1.1", "-n " + n.collector +
			" route add default via 10.211.2.1",
		"netns exec " + n.router + " sysctl -q -w net.ipv4.ip_forward=1",
	} {
		if err := ip(ctx, strings.Fields(line)...); err != nil {
			n.Close()
			return nil, err
		}
	}
	return n, nil
}

// Close takes it away.
func (n *Network) Close() {
	for _, name := range []string{n.producer, n.router, n.collector} {
		_ = ip(context.Background(), "netns", "del", name) // it may never have been there
	}
}

// Cut fails a direction, or the link; Heal mends all.
func (n *Network) Cut(ctx context.Context, how cut) error {
	switch how {
	case linkDown:
		return ip(ctx, "-n", n.router, "link", "set", "p", "down")
	case upLost:
		return ip(ctx, "-n", n.router, "route", "add", "blackhole", collectorAddress)
	case downLost:
		return ip(ctx, "-n", n.router, "route", "add", "blackhole", producerAddress)
	}
	return fmt.Errorf("no cut %d", how)
}

// Heal mends what Cut failed.
func (n *Network) Heal(ctx context.Context) error {
	_ = ip(ctx, "-n", n.router, "route", "del", "blackhole", collectorAddress) // one of the two is not there
	_ = ip(ctx, "-n", n.router, "route", "del", "blackhole", producerAddress)
	return ip(ctx, "-n", n.router, "link", "set", "p", "up")
}

// cut is how a network fails.
type cut int

const (
	linkDown cut = iota // nothing passes
	upLost              // what is sent to the collector
	downLost            // what it answers
	cuts
)

func (c cut) String() string {
	return [...]string{"link down", "one way up lost", "one way down lost"}[c]
}

func ip(ctx context.Context, arguments ...string) error {
	if said, err := exec.CommandContext(ctx, "ip", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(said)))
	}
	return nil
}

// DialFrom connects from within a namespace. A socket belongs to the namespace of the thread that makes it, wherever it
// is used then. The thread goes back to its own: it must not end, since a collector ends with the thread that started
// it.
func (n *Network) DialFrom(namespace string) func(ctx context.Context, address string) (net.Conn, error) {
	return func(ctx context.Context, address string) (connection net.Conn, err error) {
		runtime.LockOSThread()
		back, err := enter("/run/netns/" + namespace)
		if err != nil {
			runtime.UnlockOSThread()
			return nil, err
		}
		dialer := net.Dialer{Timeout: time.Second, Control: answersSoon}
		connection, err = dialer.DialContext(ctx, "tcp", address)
		if failed := back(); failed != nil {
			panic(fmt.Sprintf("a thread cannot leave the namespace %s: %v", namespace, failed))
		}
		runtime.UnlockOSThread()
		return connection, err
	}
}

// enter brings the thread into a namespace. back brings it where it was.
func enter(namespace string) (back func() error, err error) {
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	other, err := os.Open(namespace)
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	if err := errors.Join(unix.Setns(int(other.Fd()), unix.CLONE_NEWNET), other.Close()); err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return func() error { return errors.Join(unix.Setns(int(own.Fd()), unix.CLONE_NEWNET), own.Close()) }, nil
}

// unanswered is how long what was sent may be without an answer of the other side's system before a connection is given
// up.
const unanswered = 4 * time.Second

// answersSoon lets the system give a connection up that is led nowhere, as the keepalive of a sender does.
func answersSoon(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unanswered.Milliseconds()))
	})
	return errors.Join(err, failed)
}
