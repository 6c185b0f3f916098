package access

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// pipe returns the two ends of a buffered connection. Without a buffer, the last alert of TLS would wait for a reader.
func pipe(t *testing.T) (there, here net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	there, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	here, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = there.Close()
		_ = here.Close()
	})
	return there, here
}
