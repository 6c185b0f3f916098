//go:build e2e

package e2e

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// nimbusRelay stands where the collector looks for Nimbus. Until it is opened nobody listens there: then the collector
// is as one to which no Nimbus is known.
type nimbusRelay struct {
	address  string
	answered atomic.Int64 // connections that Nimbus has answered and that have ended
	serving  sync.WaitGroup
}

func newNimbusRelay(t *testing.T) *nimbusRelay { return &nimbusRelay{address: freeAddress(t)} }

// open relays to Nimbus from now on, until the test ends.
func (r *nimbusRelay) open(t *testing.T, nimbus string) {
	t.Helper()
	listener, err := net.Listen("tcp", r.address)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close(); r.serving.Wait() })
	r.serving.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			r.serving.Go(func() { r.relay(from, nimbus) })
		}
	})
}

func (r *nimbusRelay) relay(from net.Conn, nimbus string) {
	defer from.Close()
	to, err := net.Dial("tcp", nimbus)
	if err != nil {
		return
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = io.Copy(to, from)
		_ = to.Close() // the one who asks has its answer
	}()
	n, _ := io.Copy(from, to)
	_ = from.Close()
	<-asked
	if n > 0 {
		r.answered.Add(1)
	}
}
