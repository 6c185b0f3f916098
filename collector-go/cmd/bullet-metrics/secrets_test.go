package main

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// kept is a log that a test reads while it is written.
type kept struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (k *kept) Write(line []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(line)
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

// D6: a token in a store's URL is in no line of the log, whoever wrote it, and what is wrong with the store is.
func TestATokenInAStoresURLIsNotLogged(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	away := l.Addr().String() // nobody listens there in a moment
	require.NoError(t, l.Close())
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "what is "+r.URL.String()+"?", http.StatusServiceUnavailable)
	}))
	defer refusing.Close()
	for name, address := range map[string]string{"away": "http://" + away, "refusing": refusing.URL} {
		t.Run(name, func(t *testing.T) {
			c := settings(t.TempDir())
			c.Log.Level = "debug"
			remote, influx := c.Stores["remote_write"], c.Stores["influxdb"]
			remote["m"] = &config.Store{URL: address + "/write?token=s3cr%2Ft-1", Timeout: time.Second, MaxSlices: 10,
				MaxBytes: 1 << 20}
			influx["i"] = &config.Store{URL: address + "/?token=s3cr%2Ft-2", Timeout: time.Second, MaxSlices: 10,
				MaxBytes: 1 << 20, Own: map[string]string{"database": "d"}}
			log := &kept{}
			col, err := openCollector(c,
				slog.New(slog.NewTextHandler(io.MultiWriter(log, t.Output()),
					&slog.HandlerOptions{Level: slog.LevelDebug})))
			require.NoError(t, err)
			r := &running{t: t, col: col, failed: col.start()}
			defer r.close()
			r.send(minute(1, time.Now().Truncate(10*time.Second)))
			require.Eventually(t, func() bool {
				text := log.String()
				return bytes.Contains([]byte(text), []byte("store=m")) &&
					bytes.Contains([]byte(text), []byte("store=i"))
			}, time.Minute, 10*time.Millisecond)
			assert.Contains(t, log.String(), "(hidden)")
			assert.NotContains(t, log.String(), "s3cr")
		})
	}
}
