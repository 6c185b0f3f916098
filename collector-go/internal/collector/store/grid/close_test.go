package grid

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Close does not wait for a merge. What was merged so far is deleted, and the original parts are kept.
func TestCloseEndsAMerge(t *testing.T) {
	p := newHarness(t, tame)
	s := p.open(t)
	for i := range mergeFan {
		_, err := s.Append(t.Context(), uint64(i+1), numbers(today+int64(i)*1_000_000, 100))
		require.NoError(t, err)
		require.NoError(t, s.flush(t.Context()))
	}
	merging := make(chan struct{})
	p.disk.SetFault(func(_ int, op, name string) error {
		if op == "create" && strings.HasSuffix(name, partSuffix+disk.AsideSuffix) {
			close(merging)
			<-s.closing.Done()
			s.lock.RLock() // the merge has been cancelled too by now
			defer s.lock.RUnlock()
		}
		return nil
	})
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush(t.Context()) }()
	<-merging
	require.NoError(t, s.Close(t.Context()))
	require.NoError(t, <-flushed)
	p.disk.SetFault(nil)
	assert.Zero(t, testutil.ToFloat64(s.figures.merged))
	assert.Zero(t, testutil.ToFloat64(s.figures.mergesFailed))
	l, err := list(p.disk, dir)
	require.NoError(t, err)
	assert.Empty(t, l.aside)
	assert.Len(t, l.parts, mergeFan)
	s = p.open(t)
	assert.Equal(t, 100*mergeFan, count(t, s))
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, 1.0, testutil.ToFloat64(s.figures.merged), "the next start merges them")
	assert.Equal(t, 100*mergeFan, count(t, s))
}
