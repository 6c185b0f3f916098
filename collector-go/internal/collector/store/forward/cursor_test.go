package forward

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// A process dies at each call of writing its cursor in turn. The next process reads the cursor, and then the machine
// loses its power. The cursor must not go back, since the journal may have deleted the entries before it.
func TestACursorThatWasReadOutlivesALossOfPower(t *testing.T) {
	renamed := 0
	for seed := uint64(1); seed <= 20; seed++ {
		for dies := 1; ; dies++ {
			files := disktest.NewMemory(seed)
			s := open(t, "/store", newReceiver(), func(o *Options) { o.FS = files })
			_, err := s.Append(context.Background(), 10, columns(1, now, now+width))
			require.NoError(t, err)
			from := files.Calls()
			files.SetFault(func(call int, _, _ string) error {
				if call >= from+dies {
					return disktest.ErrPowerless
				}
				return nil
			})
			_, _ = s.Append(context.Background(), 20, columns(1, now+width, now+2*width))
			if !files.Off() {
				break // the write succeeded
			}
			files = files.Reboot(false)
			read := open(t, "/store", newReceiver(), func(o *Options) { o.FS = files }).Durable()
			files = files.Reboot(true)
			require.Equal(t, read, open(t, "/store", newReceiver(), func(o *Options) { o.FS = files }).Durable())
			if read == 20 {
				renamed++
			}
		}
	}
	require.Positive(t, renamed, "no process died between giving the cursor its name and making that durable")
}
