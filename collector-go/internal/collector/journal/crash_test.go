package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// TestCrashAtEveryCall ends the machine at the first, second, n-th call that changes the disk, until a run completes.
// It does so by a kill and by a power failure. Acknowledged batches are in the journal, once.
func TestCrashAtEveryCall(t *testing.T) {
	for _, powerLoss := range []bool{false, true} {
		eachSeed(t, 6, func(t *testing.T, seed uint64) {
			for call := 1; crashAt(t, seed, call, powerLoss); call++ {
				require.Less(t, call, 10_000)
			}
		})
	}
}

// crashAt runs a script that opens, appends, starts segments, releases and closes, up to a call. It returns false if
// the script completed.
func crashAt(t *testing.T, seed uint64, call int, powerLoss bool) bool {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 2)), fs: disktest.NewMemory(seed),
		acknowledged: map[batchKey]bool{}, store: newReading()}
	w.senders = []*sender{{producer: place, epoch: Epoch{1}}, {producer: place, epoch: Epoch{2}}}
	fs := w.fs
	fs.SetFault(func(n int, op, name string) error {
		if n < call {
			return nil
		}
		return disktest.ErrPowerless
	})
	w.open()
	for i := range 24 {
		w.send(w.senders[i%2])
		if i%4 == 3 {
			w.waiting.Wait()
		}
	}
	w.settle()
	w.checkpoint()
	_ = w.j.Release(w.store.at)
	crashed := fs.Off()
	w.crash(powerLoss)
	w.settle()
	w.verify()
	require.NoError(t, w.j.Close())
	return crashed
}

const killDir = "BULLET_METRICS_TEST_JOURNAL"

// TestKill repeatedly kills a real process that appends to a real directory, and restarts it. Everything that the
// process reported as durable is in the journal, once.
func TestKill(t *testing.T) {
	if dir := os.Getenv(killDir); dir != "" {
		appendForever(t, dir)
	}
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 5))
	said := map[batchKey]bool{}
	for epoch := range 10 {
		killed(t, dir, epoch, time.Duration(50+random.IntN(150))*time.Millisecond, said)
	}
	j, err := Open(dir, DefaultOptions())
	require.NoError(t, err)
	require.NoError(t, j.Close())
	r := newReading()
	r.readClosed(t, j)
	require.NotEmpty(t, said)
	for key := range said {
		require.Equal(t, 1, r.batches[key], "%v", key)
	}
	for key, n := range r.batches {
		require.Equal(t, 1, n, "%v", key)
	}
}

// killed runs the child until it has reported something and for some time after that, and records the reports.
func killed(t *testing.T, dir string, epoch int, after time.Duration, said map[batchKey]bool) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKill$")
	child.Env = append(os.Environ(), killDir+"="+dir, "EPOCH="+strconv.Itoa(epoch))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for first := true; lines.Scan(); first = false {
		sequence, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			break // truncated by the kill
		}
		said[batchKey{Epoch{byte(epoch + 1)}, sequence}] = true
		if first {
			time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
	}
	var exit *exec.ExitError
	require.True(t, errors.As(child.Wait(), &exit), "the child was killed")
}

// appendForever is the child process. It prints each sequence that has become durable.
func appendForever(t *testing.T, dir string) {
	o := DefaultOptions()
	o.SegmentBytes = 256 << 10
	j, err := Open(dir, o)
	require.NoError(t, err)
	epoch, err := strconv.Atoi(os.Getenv("EPOCH"))
	require.NoError(t, err)
	s := &sender{producer: place, epoch: Epoch{byte(epoch + 1)}}
	window := make(chan struct{}, 32)
	for sequence := uint64(1); ; sequence++ {
		window <- struct{}{}
		_, err := j.Append(batchOf(t, j, s, sequence), func(err error) {
			if err == nil {
				fmt.Println(sequence)
			}
			<-window
		})
		require.NoError(t, err)
	}
}
