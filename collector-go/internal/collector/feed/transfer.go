package feed

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/checkpoint"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slicer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// The format of a topology's exported state, which its sender keeps. See docs/formats/checkpoint.md.
const (
	transferMagic   = "BMTOPOL"
	transferVersion = 1
	// MaxTransferBytes is the largest compressed state that is exported or imported. It suffices for about 500,000
	// series.
	MaxTransferBytes = 12 << 20
	// maxUnpackedBytes bounds the size of an unpacked state. maxUnpacking bounds its ratio to the packed size, beyond
	// the first MiB. The states of real topologies grow by a factor of 20. These limits bound how much a sender can
	// make the collector unpack by what it sends.
	maxUnpackedBytes = 256 << 20
	maxUnpacking     = 100
	// farthestBack is the largest window of a packed state. packer does not exceed it.
	farthestBack = 8 << 20
	// handOutMs is the least time between two exports of a topology's state while it changes. The sender keeps the
	// batches that it has sent since the last one.
	handOutMs = 10_000
	// mostOfTime limits exporting to 1/100 of a feed's time. The state of a large topology is therefore exported less
	// often.
	mostOfTime = 100
)

// reach is how far the batches of an owned topology were applied. The sender may drop its batches up to sequence once
// it has the state that was exported at that point.
type reach struct {
	epoch    journal.Epoch
	sequence uint64
	newer    bool  // batches arrived since the last export
	nextMs   int64 // tick time from which it may be exported again
}

// reach records a batch of a topology that its sender owns. If the batch is the sender's last, the ownership ends.
func (p *pipeline) reach(b *journal.Batch) {
	topology := p.slicer.Owner(uint32(b.Producer))
	if topology == "" {
		return
	}
	if b.Notes.GetClosing() {
		p.slicer.Release(uint32(b.Producer))
		delete(p.reached, topology)
		return
	}
	r := p.reached[topology]
	if r == nil || r.epoch != b.Epoch {
		r = &reach{epoch: b.Epoch}
		p.reached[topology] = r
	}
	r.sequence, r.newer = max(r.sequence, b.Sequence), true
}

// moved applies the arrival of a sender that owns its topology. If the sender brings a state, it replaces the state
// here. If it brings none and this is not its first collector, the state here is older than what the sender has
// delivered since. It is then dropped.
func (p *pipeline) moved(e *journal.Moved) {
	producer, known := p.producers[e.Producer]
	if !known {
		return
	}
	if r := p.reached[producer.Topology]; e.First && p.slicer.Owner(uint32(e.Producer)) == producer.Topology &&
		(r == nil || r.epoch == e.Epoch) {
		return // only the collector restarted
	}
	p.reached[producer.Topology] = &reach{epoch: e.Epoch, newer: true}
	if len(e.State) > 0 && p.takeUp(producer.Topology, e) == nil { // ingest has already checked the state
		return
	}
	if !e.First {
		p.stats.moved += uint64(p.slicer.DropTopology(producer.Topology))
	}
	p.slicer.Acquire(uint32(e.Producer), producer.Topology)
}

// takeUp imports the state that a sender brings into slicer, catalog and stats. Each journal numbers series by itself,
// so ids are translated by the positions of the series in the list.
func (p *pipeline) takeUp(topology string, e *journal.Moved) error {
	c, err := unpackTransfer(topology, e.State)
	if err != nil {
		return err
	}
	if len(c.series) != len(e.Series) {
		return errors.New("its series differ from those that the journal has names for")
	}
	here := make(map[uint32]uint32, len(c.series))
	for i, s := range c.series {
		here[s.ID] = uint32(e.Series[i])
	}
	open, were, err := p.slicer.Import(slicer.Imported{Topology: topology, Snapshot: c.slices,
		Series: func(id uint32) uint32 { return here[id] }, Producer: uint32(e.Producer), AtMs: e.TimeMs})
	if err != nil {
		return err
	}
	p.stats.read += uint64(open)
	p.stats.moved += uint64(were)
	changes, err := p.catalog.Import(topology, c.names, func(id uint32) uint32 { return here[id] })
	if err != nil {
		return err
	}
	p.resume(changes)
	sender := p.stats.sender(e.Epoch)
	maps.Copy(sender.last, c.drops)
	return nil
}

// exportTopology returns the state of a topology, packed for its sender. It returns nil if the state is too large for a
// message. The sender must then start afresh on another collector.
func (p *pipeline) exportTopology(topology string, r *reach) []byte {
	data := append([]byte(transferMagic), transferVersion)
	data = appendText(data, topology)
	for _, part := range [][]byte{p.catalog.SnapshotOf(topology), p.slicer.SnapshotOf(topology)} {
		data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
	}
	drops := p.stats.sender(r.epoch).last
	data = binary.AppendUvarint(data, uint64(len(drops)))
	for _, reason := range slices.Sorted(maps.Keys(drops)) {
		data = binary.AppendUvarint(binary.AppendUvarint(data, uint64(reason)), drops[reason])
	}
	if len(data) > maxUnpackedBytes {
		return nil
	}
	if data = packer.EncodeAll(data, nil); len(data) > MaxTransferBytes {
		return nil
	}
	return data
}

// packer remembers little of what it has packed: a checkpoint's tables repeat themselves soon, or not at all.
var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
	zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true))

// unpacking reads a packed state from its beginning, and stops at the first invalid part. Otherwise a message of a few
// KB could make the collector unpack hundreds of MiB.
type unpacking struct {
	packed *zstd.Decoder
	*bufio.Reader
	left int64 // bytes that may still follow
	err  error
}

func unpack(packed []byte) (*unpacking, error) {
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(farthestBack), zstd.WithDecoderMaxMemory(maxUnpackedBytes))
	if err != nil {
		return nil, fmt.Errorf("decode transferred state: %w", err)
	}
	return &unpacking{packed: d, Reader: bufio.NewReader(d),
		left: min(maxUnpackedBytes, maxUnpacking*int64(len(packed))+1<<20)}, nil
}

// fail keeps the first error, because it explains the later ones.
func (u *unpacking) fail(err error) {
	if u.err == nil && err != nil {
		u.err = fmt.Errorf("decode transferred state: %w", err)
	}
}

func (u *unpacking) number() uint64 {
	if u.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(u.Reader)
	u.fail(err)
	return n
}

// bytes reads the next n bytes. Before it allocates, it checks n against the bytes that may still follow.
func (u *unpacking) bytes(n uint64) []byte {
	if u.err == nil && n > uint64(u.left) {
		u.fail(fmt.Errorf("a part of %d bytes exceeds the %d bytes that remain of the decompressed size", n, u.left))
	}
	if u.err != nil {
		return nil
	}
	u.left -= int64(n)
	b := make([]byte, n)
	_, err := io.ReadFull(u.Reader, b)
	u.fail(err)
	return b
}

// part reads bytes that follow their length. check receives up to 32 of them before the rest is unpacked, so that a
// newer version is recognised early.
func (u *unpacking) part(check func(begins []byte) error) []byte {
	n := u.number()
	begins, _ := u.Peek(int(min(n, 32))) // a later read reports input that is too short
	if u.err == nil {
		u.fail(check(begins))
	}
	return u.bytes(n)
}

// imported is the unpacked state that a sender brings. Its parts are checked against the topology's name before use.
type imported struct {
	names, slices []byte
	series        []catalog.Named // in ascending order of the writer's ids
	drops         map[int32]uint64
}

// unpackTransfer reads what exportTopology wrote. It fails if the bytes are damaged, of another version, or about
// another topology.
func unpackTransfer(topology string, packed []byte) (imported, error) {
	u, err := unpack(packed)
	if err != nil {
		return imported{}, err
	}
	defer u.packed.Close()
	begins := u.bytes(uint64(len(transferMagic)))
	if u.err == nil && string(begins) != transferMagic {
		return imported{}, errors.New("transferred state does not begin with " + transferMagic)
	}
	if v := u.bytes(1); u.err == nil && v[0] != transferVersion {
		return imported{}, fmt.Errorf("transferred state has version %d, but this program supports %d: run the same release on all collectors",
			v[0], transferVersion)
	}
	name := string(u.part(func([]byte) error { return nil }))
	c := imported{names: u.part(catalog.CheckVersion), slices: u.part(slicer.CheckVersion), drops: map[int32]uint64{}}
	for n := u.number(); n > 0 && u.err == nil; n-- {
		u.left -= 2
		if u.left < 0 {
			u.fail(errors.New("its decompressed size exceeds the limit"))
		}
		reason := int32(u.number())
		c.drops[reason] = u.number()
	}
	if _, more := u.Peek(1); u.err == nil && !errors.Is(more, io.EOF) {
		u.fail(errors.Join(errors.New("it has data after its end"), more))
	}
	if u.err != nil {
		return imported{}, u.err
	}
	if name != topology {
		return imported{}, fmt.Errorf("it belongs to topology %q", name)
	}
	if c.series, err = catalog.Names(c.names); err != nil {
		return imported{}, err
	}
	if slices.ContainsFunc(c.series, func(s catalog.Named) bool { return s.Raw.Topology != topology }) {
		return imported{}, errors.New("it names another topology")
	}
	return c, nil
}

// Arriving checks the state that a sender brings from another collector. It returns the series that the state names, in
// the order of journal.Moved.Series. The error explains why the state cannot be imported.
func Arriving(topology string, state []byte, o slicer.Options) ([]metric.Raw, error) {
	c, err := unpackTransfer(topology, state)
	if err != nil {
		return nil, err
	}
	here, series := make(map[uint32]uint32, len(c.series)), make([]metric.Raw, len(c.series))
	for i, s := range c.series {
		here[s.ID], series[i] = uint32(i+1), *s.Raw
	}
	err = slicer.CheckImport(slicer.Imported{Topology: topology, Snapshot: c.slices, Producer: 1,
		Series: func(id uint32) uint32 { return here[id] }}, o)
	return series, err
}

// handOut exports the state of each owned topology for its sender. It runs when the store has everything that closed. A
// sender therefore never moves state whose slices were not stored here.
//
// The state of a large topology is exported less often, because packing it takes the feed's time (mostOfTime).
func (f *Feed) handOut() {
	if f.options.Transfers == nil {
		return
	}
	for topology, r := range f.pipeline.reached {
		if !r.newer || f.tickMs < r.nextMs {
			continue
		}
		begun := time.Now()
		data := f.pipeline.exportTopology(topology, r)
		r.newer, r.nextMs = false, f.tickMs+max(handOutMs, mostOfTime*time.Since(begun).Milliseconds())
		if data == nil {
			f.options.Logger.Error("the state of a topology is too large to transfer; another collector would start without it",
				"topology", topology, "most_bytes", MaxTransferBytes)
		}
		f.options.Transfers.Put(topology, checkpoint.TransferState{Epoch: r.epoch, Sequence: r.sequence, Data: data})
	}
	f.options.Transfers.Keep(func(topology string) bool { return f.pipeline.reached[topology] != nil })
}
