package journal

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// TestABatchIsKnownForADay covers a machine that dies between a write and its answer, and starts on a full disk. The
// batch is recognised for a day when it is sent again, which is longer than a sender holds it.
func TestABatchIsKnownForADay(t *testing.T) {
	const cameMs, dayMs = 1_000_000 * hourMs, 24 * hourMs
	for laterMs, want := range map[int64]int{0: 1, dayMs: 1, dayMs + 1: 2} {
		t.Run(fmt.Sprintf("%d ms later", laterMs), func(t *testing.T) {
			fs := disktest.NewMemory(1)
			j, err := Open("/journal", smallOptions(fs))
			require.NoError(t, err)
			fs.SetFault(func(_ int, op, _ string) error {
				if op == "sync" {
					return disktest.ErrPowerless
				}
				return nil
			})
			batch := func() *Batch {
				b := oneBatch(t, j, 1)
				b.ReceivedMs = cameMs
				return b
			}
			answer := make(chan error, 1)
			_, err = j.Append(batch(), func(err error) { answer <- err })
			require.NoError(t, err)
			require.ErrorIs(t, <-answer, ErrFull)
			fs = fs.Reboot(false)
			require.NoError(t, j.Close())

			fs.Fill()
			j, err = Open("/journal", smallOptions(fs))
			require.NoError(t, err)
			require.Error(t, j.Ready())
			require.NoError(t, j.AppendControl(&Started{TimeMs: cameMs + laterMs}))
			fs.SetRoom(0)
			awaitReady(j)
			b := batch()
			b.ReceivedMs += laterMs
			require.Equal(t, want == 1, appended(t, j, b))
			require.Equal(t, map[batchKey]int{{Epoch{9}, 1}: want}, readFrom(t, j))
			require.NoError(t, j.Close())
		})
	}
}
