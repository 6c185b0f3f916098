package quota

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// takeAll takes slots for a key until none is available.
func takeAll(p *Slots, keys ...string) (releases []func(), err error) {
	for {
		release, err := p.Take(keys...)
		if err != nil {
			return releases, err
		}
		releases = append(releases, release)
	}
}

func TestNobodyHasAllSlots(t *testing.T) {
	p := New(30)
	hostile, err := takeAll(p, "hostile")
	assert.Len(t, hostile, 20)
	assert.EqualError(t, err, "hostile uses 20 of 30 slots, its maximum share")
	good, err := p.Take("good")
	require.NoError(t, err)
	second, _ := takeAll(p, "second")
	assert.Len(t, second, 6)
	_, err = p.Take("third")
	require.NoError(t, err, "some are free for one that comes")
	good()
	good()
	assert.Equal(t, 27, p.Taken(), "a place is given back once")
}

func TestEveryKeyOfATakerHasAShare(t *testing.T) {
	p := New(9)
	taken, err := takeAll(p, "topology", "address")
	assert.Len(t, taken, 6)
	assert.ErrorContains(t, err, "topology uses 6")
	_, err = p.Take("another", "address")
	assert.ErrorContains(t, err, "address uses 6")
	_, err = p.Take("another", "elsewhere")
	require.NoError(t, err)
	_, err = takeAll(p, "")
	require.EqualError(t, err, "all 9 slots are in use")
}

func TestOneSlotIsTheFirstOnes(t *testing.T) {
	p := New(1)
	release, err := p.Take("a")
	require.NoError(t, err)
	_, err = p.Take("b")
	require.EqualError(t, err, "all 1 slots are in use")
	release()
	_, err = p.Take("b")
	require.NoError(t, err)
}

// Whatever is taken and returned, the sums are right, and keys without slots are forgotten.
func TestSlotsBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := New(rapid.IntRange(1, 20).Draw(t, "limit"))
		byKey := []func(){}
		for _, step := range rapid.SliceOf(rapid.IntRange(-3, 3)).Draw(t, "steps") {
			if step < 0 && len(byKey) > 0 {
				byKey[0]()
				byKey = byKey[1:]
				continue
			}
			if release, err := p.Take(string(rune('a' + step + 3))); err == nil {
				byKey = append(byKey, release)
			}
			if p.Taken() != len(byKey) {
				t.Fatalf("%d slots are in use, %d are held", p.Taken(), len(byKey))
			}
		}
		for _, release := range byKey {
			release()
		}
		if p.Taken() != 0 || len(p.byKey) != 0 {
			t.Fatalf("left: %d places, keys %v", p.Taken(), p.byKey)
		}
	})
}

func TestAddress(t *testing.T) {
	for peer, key := range map[string]string{
		"10.1.2.3:4": "10.1.2.3", "10.1.2.3": "10.1.2.3", "[::ffff:10.1.2.3]:4": "10.1.2.3",
		"[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64", "2001:db8:1:2::9": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1": "fe80::/64",
		"@":                "@", "": "",
	} {
		assert.Equal(t, key, Address(peer), peer)
	}
}

func TestLocal(t *testing.T) {
	for peer, local := range map[string]bool{"127.0.0.1:4": true, "127.9.0.1": true, "[::1]:4": true,
		"[::ffff:127.0.0.1]:4": true,
		"10.1.2.3:4":           false, "[2001:db8::1]:4": false, "@": false, "": false} {
		assert.Equal(t, local, Local(peer), peer)
	}
}

// from connects from one of the host's own addresses.
func from(t *testing.T, address string, to net.Addr) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	connection, err := dialer.DialContext(t.Context(), "tcp", to.String())
	require.NoError(t, err)
	t.Cleanup(func() { connection.Close() })
	return connection
}

func TestAnAddressHasItsShareOfConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refused := make(chan string, 100)
	slots := New(6)
	l := Listen(inner, slots, func(peer string, why error) { refused <- Address(peer) + ": " + why.Error() })
	accepted := make(chan net.Conn, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			connection, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- connection
		}
	}()
	for range 10 {
		from(t, "127.0.0.2", l.Addr())
	}
	for range 6 {
		require.Equal(t, "127.0.0.2: 127.0.0.2 uses 4 of 6 slots, its maximum share", <-refused)
	}
	for range 4 {
		defer func(c net.Conn) { require.NoError(t, c.Close()) }(<-accepted)
	}
	good := from(t, "127.0.0.3", l.Addr())
	one := <-accepted
	require.Equal(t, good.LocalAddr().String(), one.RemoteAddr().String())
	require.Equal(t, 5, slots.Taken())
	require.NoError(t, one.Close())
	require.NoError(t, one.Close(), "closing twice gives back one place")
	require.Equal(t, 4, slots.Taken())
	require.NoError(t, inner.Close())
	<-ended
}

// failing is a listener that cannot accept connections.
type failing struct {
	net.Listener
	err error
}

func (f failing) Accept() (net.Conn, error) { return nil, f.err }

func TestConnectionsThatCannotBeAcceptedAreReported(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{syscall.EMFILE, []string{
			"too many open files: raise the limit of open files (ulimit -n, LimitNOFILE of systemd)"}},
		{syscall.ECONNABORTED, []string{"software caused connection abort"}},
		{net.ErrClosed, nil},
	} {
		var said []string
		l := Listen(failing{err: c.err}, New(1), func(peer string, why error) {
			assert.Empty(t, peer)
			said = append(said, why.Error())
		})
		_, err := l.Accept()
		require.Equal(t, c.err, err)
		assert.Equal(t, c.want, said)
	}
}
