package feed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// stateVersion is the version of the frame around the parts. Each part has its own version. Parts of version 1 are not
// compressed.
const stateVersion = 2

// snapshot returns the pipeline's state as consecutive parts, compressed with zstd. They are not joined, because a
// large cluster has hundreds of megabytes of state. Take a snapshot only after all closed slices were handed over.
func (p *pipeline) snapshot() [][]byte {
	parts := [][]byte{{stateVersion}}
	for _, part := range []func() []byte{p.catalog.Snapshot, p.slicer.Snapshot, p.stats.snapshot} {
		packed := packer.EncodeAll(part(), nil)
		parts = append(parts, binary.AppendUvarint(nil, uint64(len(packed))), packed)
	}
	return parts
}

// unpackPart returns what packer compressed.
func unpackPart(packed []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(packed, nil)
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
	parts := [3][]byte{r.Sized(), r.Sized(), r.Sized()}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if data[0] > 1 {
		for i := range parts {
			if parts[i], err = unpackPart(parts[i]); err != nil {
				return nil, fmt.Errorf("decompress the checkpoint: %w", err)
			}
		}
	}
	p := &pipeline{producers: map[journal.ProducerID]journal.ProducerDefined{}, reached: map[string]*reach{}}
	if p.catalog, err = catalog.Restore(parts[0], o.Catalog); err != nil {
		return nil, fmt.Errorf("restore the catalog's state: %w", err)
	}
	if p.slicer, err = slicer.Restore(parts[1], o.Slicer); err != nil {
		return nil, fmt.Errorf("restore the slicer's state: %w", err)
	}
	if p.stats, err = restoreStats(parts[2]); err != nil {
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
	compressed, at := b[0] > 1, int64(1)
	for _, check := range []func([]byte) error{catalog.CheckVersion, slicer.CheckVersion} {
		n, _ := state.ReadAt(b[:], at)
		length, size := binary.Uvarint(b[:n])
		if size <= 0 {
			return nil
		}
		at += int64(size)
		begin, err := beginOfPart(io.NewSectionReader(state, at, int64(length)), compressed)
		if err != nil {
			return nil // restoring it names the damage
		}
		if err := check(begin); err != nil {
			return err
		}
		at += int64(length)
	}
	return nil
}

// beginOfPart returns the first bytes of a part, which include its version.
func beginOfPart(part io.Reader, compressed bool) ([]byte, error) {
	if compressed {
		d, err := zstd.NewReader(part, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		part = d
	}
	b := make([]byte, 64)
	n, err := io.ReadFull(part, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return b[:n], err
}

// resume applies the decisions that a restored catalog repeats. Series that the slicer has forgotten stay undefined.
// Their next sample defines them, as it would without a restart.
func (p *pipeline) resume(changes []catalog.Change) {
	p.change(slices.DeleteFunc(changes, func(c catalog.Change) bool {
		// the next sample of this series defines it, as without a restart
		return c.Verdict.Outcome == catalog.Stored && !p.slicer.Defined(c.ID)
	}))
}
