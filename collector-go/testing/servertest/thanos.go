//go:build stores || dashboards

package servertest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// buildThanos builds it into build/tools. Without the tag it crashes with the labels that it was written for.
func buildThanos(t testing.TB) string {
	cases.Full(t, "Thanos, which Debian does not have")
	into, err := filepath.Abs(tools)
	require.NoError(t, err)
	program := filepath.Join(into, "thanos")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "slicelabels", "-o", program,
		"github.com/thanos-io/thanos/cmd/thanos")
	build.Dir = root + "/collector-go/tools/thanos"
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// Ring is a real Thanos: receivers that each keep everything, and a querier over them.
type Ring struct {
	Querier *Server
	Writes  []string // URL of each receiver's remote write

	Receivers []*Server
}

// Thanos starts a ring whose receivers take points out of order within a window.
func Thanos(t testing.TB, window time.Duration) *Ring {
	program := buildThanos(t)
	const copies = 3
	var stores, asked []string // gRPC
	for range copies {
		stores = append(stores, freeAddress(t))
	}
	hashring, err := json.Marshal([]map[string]any{{"endpoints": stores}})
	require.NoError(t, err)
	r := &Ring{}
	for i, store := range stores {
		write := freeAddress(t)
		r.Writes = append(r.Writes, "http://"+write+"/api/v1/receive")
		asked = append(asked, "--endpoint", store)
		r.Receivers = append(r.Receivers, start(t, &Server{ready: "/-/ready",
			command: func(dir, address string) *exec.Cmd {
				file := filepath.Join(dir, "hashrings.json")
				require.NoError(t, os.WriteFile(file, hashring, 0o666))
				return exec.Command(program, "receive", "--tsdb.path", filepath.Join(dir, "data"),
					"--http-address", address, "--grpc-address", store, "--remote-write.address", write,
					"--label", `replica="`+string(rune('a'+i))+`"`, "--receive.local-endpoint", store,
					"--receive.hashrings-file", file, "--receive.replication-factor", "3",
					"--receive.capnproto-address", "127.0.0.1:0", "--tsdb.retention", "0d",
					"--tsdb.enable-native-histograms", "--tsdb.out-of-order.time-window",
					model.Duration(window).String(), "--log.level", "warn")
			}}))
	}
	r.Querier = start(t, &Server{ready: "/-/ready", command: func(_, address string) *exec.Cmd {
		return exec.Command(program, slices.Concat([]string{"query", "--http-address", address,
			"--grpc-address", freeAddress(t), "--query.replica-label", "replica", "--query.replica-label", "tenant_id",
			"--deduplication.func", "chain", "--no-query.partial-response", "--log.level", "warn"}, asked)...)
	}})
	return r
}

// Await waits until the querier knows what the receivers hold by now.
func (r *Ring) Await() {
	now := time.Now()
	var answer struct {
		Data map[string][]struct {
			LastCheck time.Time
			LastError *string
		}
	}
	require.Eventually(r.Querier.t, func() bool {
		require.NoError(r.Querier.t, json.Unmarshal(r.Querier.get("/api/v1/stores"), &answer))
		known := 0
		for _, s := range answer.Data["receive"] {
			if s.LastError == nil && s.LastCheck.After(now) {
				known++
			}
		}
		return known == len(r.Receivers)
	}, time.Minute, 100*time.Millisecond, "%v", &answer)
}

// CPUSeconds is what the querier and the receivers have used.
func (r *Ring) CPUSeconds() (all float64) {
	for _, s := range append([]*Server{r.Querier}, r.Receivers...) {
		used, _ := s.Uses()
		all += used
	}
	return all
}

// Uses is the CPU that a program has used, in seconds, and the memory that it has, in bytes.
func (s *Server) Uses() (cpuSeconds, resident float64) {
	p, err := procfs.NewProc(s.process.Process.Pid)
	require.NoError(s.t, err)
	stat, err := p.Stat()
	require.NoError(s.t, err)
	return stat.CPUTime(), float64(stat.ResidentMemory())
}
