package feed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// stateVersion is the version of the frame around the parts. Each part has its own version.
const stateVersion = 1

// snapshot returns the pipeline's state as consecutive parts. They are not joined, because a large cluster has hundreds
// of megabytes of state. Take a snapshot only after all closed slices were handed over.
func (p *pipeline) snapshot() [][]byte {
	parts := [][]byte{{stateVersion}}
	for _, part := range [][]byte{p.catalog.Snapshot(), p.slicer.Snapshot(), p.stats.snapshot()} {
		parts = append(parts, binary.AppendUvarint(nil, uint64(len(part))), part)
	}
	return parts
}

// restorePipeline reads what snapshot wrote. The snapshot contains no producers and layouts, because the journal
// defines them again for every reader.
func restorePipeline(data []byte, o Options) (_ *pipeline, err error) {
	if len(data) == 0 || data[0] == 0 {
		return nil, errors.New("the checkpoint has no version")
	}
	if err := disk.CheckVersion(uint64(data[0]), stateVersion); err != nil {
		return nil, err
	}
	r := varint.Of(data[1:])
	names, slicerPart, statsPart := r.Sized(), r.Sized(), r.Sized()
	if err := r.Err(); err != nil {
		return nil, err
	}
	p := &pipeline{producers: map[journal.ProducerID]journal.ProducerDefined{}, reached: map[string]*reach{}}
	if p.catalog, err = catalog.Restore(names, o.Catalog); err != nil {
		return nil, fmt.Errorf("restore the catalog's state: %w", err)
	}
	if p.slicer, err = slicer.Restore(slicerPart, o.Slicer); err != nil {
		return nil, fmt.Errorf("restore the slicer's state: %w", err)
	}
	if p.stats, err = restoreStats(statsPart); err != nil {
		return nil, fmt.Errorf("restore the feed's statistics: %w", err)
	}
	p.resume(p.catalog.Resume())
	return p, nil
}

// CheckVersion returns a disk.ErrNewer if a newer program wrote a checkpoint or a part of it. It reads only the
// versions, so it is cheap even for a large checkpoint.
func CheckVersion(state io.ReaderAt) error {
	var b [64]byte
	n, _ := state.ReadAt(b[:], 0)
	if n == 0 {
		return nil
	}
	if err := disk.CheckVersion(uint64(b[0]), stateVersion); err != nil {
		return err
	}
	at := int64(1)
	for _, check := range []func([]byte) error{catalog.CheckVersion, slicer.CheckVersion} {
		n, _ := state.ReadAt(b[:], at)
		length, size := binary.Uvarint(b[:n])
		if size <= 0 {
			return nil
		}
		if err := check(b[size:n]); err != nil {
			return err
		}
		at += int64(size) + int64(length)
	}
	return nil
}

// resume applies the decisions that a restored catalog repeats. Series that the slicer has forgotten stay undefined.
// Their next sample defines them, as it would without a restart.
func (p *pipeline) resume(changes []catalog.Change) {
	p.change(slices.DeleteFunc(changes, func(c catalog.Change) bool {
		// the next sample of this series defines it, as without a restart
		return c.Verdict.Outcome == catalog.Stored && !p.slicer.Defined(c.ID)
	}))
}
