package feed

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// TestCheckpointsWaitForTheJournal checks that checkpoints are a small part of what is written, unless a restart would
// replay for long.
func TestCheckpointsWaitForTheJournal(t *testing.T) {
	const interval = 60
	for _, c := range []struct {
		name         string
		ticks        int
		grown, saved int64
		due          bool
	}{
		{"the first after a start", interval, 1, 0, true},
		{"too early", interval - 1, 1 << 30, 1000, false},
		{"as much as the last one", interval, 1000, 1000, false},
		{"four times as much", interval, 4000, 1000, true},
		{"more than is replayed in a second", interval, quickReplayBytes, quickReplayBytes / 2, true},
		{"a large one, nearly as much", interval, 1<<30 - 1, 1 << 30, false},
		{"a large one, as much", interval, 1 << 30, 1 << 30, true},
		{"a quiet topology", 10*interval - 1, 1000, 1 << 20, false},
		{"a quiet topology, after ten intervals", 10 * interval, 1000, 1 << 20, true},
	} {
		o := DefaultOptions("memory", "")
		o.CheckpointTicks = interval
		f := &Feed{options: o, ticks: c.ticks, grown: c.grown, saved: c.saved}
		assert.Equal(t, c.due, f.checkpointDue(), c.name)
	}
}

// TestTheVersionOfACompressedPartIsFound checks that a checkpoint of a newer program is recognized without reading all
// of it.
func TestTheVersionOfACompressedPartIsFound(t *testing.T) {
	p, err := newPipeline(DefaultOptions("memory", ""))
	require.NoError(t, err)
	require.NoError(t, CheckVersion(bytes.NewReader(slices.Concat(p.snapshot()...))))

	for _, part := range [][]byte{p.catalog.Snapshot(), p.slicer.Snapshot()} {
		part[len("BMSLICER")] = 100
		packed := packer.EncodeAll(part, nil)
		state := append(binary.AppendUvarint([]byte{stateVersion}, uint64(len(packed))), packed...)
		if bytes.HasPrefix(part, []byte("BMSLICER")) {
			first := p.snapshot()
			state = slices.Concat(first[0], first[1], first[2], state[1:])
		}
		require.ErrorIs(t, CheckVersion(bytes.NewReader(state)), disk.ErrNewer)
	}
}
