package chaos

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echo answers every connection with what it sends.
func echo(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

func connect(t *testing.T, r *Relay) net.Conn {
	c, err := net.Dial("tcp", r.Address())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
}

func hears(t *testing.T, c net.Conn, text string) {
	got := make([]byte, len(text))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

func TestRelay(t *testing.T) {
	r, err := RelayTo(echo(t))
	require.NoError(t, err)
	defer r.Close()
	a, b := connect(t, r), connect(t, r)
	for _, c := range []net.Conn{a, b} {
		send(t, c, "one")
		hears(t, c, "one")
	}
	for name, w := range map[string]Weather{"up": {HoldUp: true}, "down": {HoldDown: true},
		"both": {HoldUp: true, HoldDown: true}} {
		r.Set(w)
		send(t, a, name)
		require.NoError(t, a.SetReadDeadline(time.Now().Add(30*time.Millisecond)))
		_, err := a.Read(make([]byte, 1))
		var timeout net.Error
		require.ErrorAs(t, err, &timeout, name)
		require.NoError(t, a.SetReadDeadline(time.Now().Add(patience)))
		r.Set(Weather{})
		hears(t, a, name) // nothing of it was lost
	}
	begun := time.Now()
	r.Set(Weather{BytesPerSecond: 1})
	send(t, b, "ab")
	hears(t, b, "ab")
	require.Greater(t, time.Since(begun), time.Second)

	r.Set(Weather{Latency: 50 * time.Millisecond, Delay: 10 * time.Millisecond})
	begun = time.Now()
	send(t, a, "late")
	hears(t, a, "late")
	require.Greater(t, time.Since(begun), 50*time.Millisecond)

	r.Cut()
	_, err = io.ReadAll(a)
	var timeout net.Error
	require.False(t, err != nil && errorsAsTimeout(err, &timeout), "it was not cut")
	r.Set(Weather{HoldUp: true})
	send(t, connect(t, r), "nowhere")
}

func errorsAsTimeout(err error, timeout *net.Error) bool {
	e, is := err.(net.Error) //nolint:errorlint // the connection's own
	*timeout = e
	return is && e.Timeout()
}
