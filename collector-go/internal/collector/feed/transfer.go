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

// What is known of a topology that its sender carries, as bytes: docs/formats/checkpoint.md.
const (
	transferMagic   = "BMTOPOL"
	transferVersion = 1
	// MaxTransferBytes is the largest that is handed out or taken, compressed: some 500,000 series.
	MaxTransferBytes = 12 << 20
	// maxUnpackedBytes is the most that one may be when it is unpacked, and maxUnpacking how many times what it is
	// packed, beyond the first MiB: those of real topologies become 20 times as large. So what a sender can make the
	// collector unpack is bounded by what it sends.
	maxUnpackedBytes = 256 << 20
	maxUnpacking     = 100
	// farthestBack is how far back a packed state may refer: what packer writes does not refer further.
	farthestBack = 8 << 20
	// handOutMs is how often a topology's state is handed out while it changes. What came since is the sender's to
	// keep.
	handOutMs = 10_000
	// mostOfTime is the part of a feed's time that handing out may take: a large topology's state comes less often.
	mostOfTime = 100
)

// reach is how far the batches of an owned topology have come. The sender may drop the batches up to sequence once it
// holds the state that was handed out for it.
type reach struct {
	epoch    journal.Epoch
	sequence uint64
	newer    bool  // than what was handed out
	nextMs   int64 // of the tick at which it may be again
}

// reach notes a batch of a topology that its sender carries. One that closes carries it no more.
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

// moved applies the arrival of a sender that owns its topology. If it brings a state, that takes the place of what is
// known here. If it brings none and it is not the first collector, what is known is older than what the sender has
// delivered since, so it is dropped.
func (p *pipeline) moved(e *journal.Moved) {
	producer, known := p.producers[e.Producer]
	if !known {
		return
	}
	if r := p.reached[producer.Topology]; e.First && p.slicer.Owner(uint32(e.Producer)) == producer.Topology &&
		(r == nil || r.epoch == e.Epoch) {
		return // the collector was started again
	}
	p.reached[producer.Topology] = &reach{epoch: e.Epoch, newer: true}
	if len(e.State) > 0 && p.takeUp(producer.Topology, e) == nil { // the door has looked at it
		return
	}
	if !e.First {
		p.stats.moved += uint64(p.slicer.DropTopology(producer.Topology))
	}
	p.slicer.Acquire(uint32(e.Producer), producer.Topology)
}

// takeUp imports the state that a sender brings into slicer, catalog and stats. Ids are translated by the series'
// places in the list, because each journal numbers series by itself.
func (p *pipeline) takeUp(topology string, e *journal.Moved) error {
	c, err := unpackTransfer(topology, e.State)
	if err != nil {
		return err
	}
	if len(c.series) != len(e.Series) {
		return errors.New("its series are not those that the journal has names for")
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

// carry returns what is known of a topology, packed for its sender. It returns nil if that is larger than a message may
// be. The sender then has to start afresh on another collector.
func (p *pipeline) carry(topology string, r *reach) []byte {
	data := append([]byte(transferMagic), transferVersion)
	data = appendText(data, topology)
	for _, part := range [][]byte{p.catalog.SnapshotOf(topology), p.slicer.SnapshotOf(topology)} {
		data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
	}
	drops := p.stats.sender(r.epoch).last
	data = binary.AppendUvarint(data, uint64(len(drops)))
	for _, reason := range sortedKeys(drops) {
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

var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))

// unpacking reads a packed state from its beginning, and stops at the first part that is not what it should be.
// Otherwise a sender could make the collector unpack hundreds of MiB with a message of a few KB.
type unpacking struct {
	packed *zstd.Decoder
	*bufio.Reader
	left int64 // bytes that may still come
	err  error
}

func unpack(packed []byte) (*unpacking, error) {
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(farthestBack), zstd.WithDecoderMaxMemory(maxUnpackedBytes))
	if err != nil {
		return nil, fmt.Errorf("unpack a topology: %w", err)
	}
	return &unpacking{packed: d, Reader: bufio.NewReader(d),
		left: min(maxUnpackedBytes, maxUnpacking*int64(len(packed))+1<<20)}, nil
}

// fail keeps the first error, which is the one that explains the others.
func (u *unpacking) fail(err error) {
	if u.err == nil && err != nil {
		u.err = fmt.Errorf("unpack a topology: %w", err)
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

// bytes reads the next n bytes. It checks n against what may still come before it allocates.
func (u *unpacking) bytes(n uint64) []byte {
	if u.err == nil && n > uint64(u.left) {
		u.fail(fmt.Errorf("a part of %d bytes is too large for how it is packed: %d may come", n, u.left))
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

// part reads bytes that follow their length. check sees the first 32 of them before the rest is unpacked, so that a
// newer version is recognised early.
func (u *unpacking) part(check func(begins []byte) error) []byte {
	n := u.number()
	begins, _ := u.Peek(int(min(n, 32))) // what is too short is noticed by who reads on
	if u.err == nil {
		u.fail(check(begins))
	}
	return u.bytes(n)
}

// imported is the unpacked state that a sender brings. Its parts are checked against the topology's name before use.
type imported struct {
	names, slices []byte
	series        []catalog.Named // by the ids of who wrote it, which rise
	drops         map[int32]uint64
}

// unpackTransfer reads what carry wrote. It fails if the bytes are damaged, of another version, or about another
// topology.
func unpackTransfer(topology string, packed []byte) (imported, error) {
	u, err := unpack(packed)
	if err != nil {
		return imported{}, err
	}
	defer u.packed.Close()
	begins := u.bytes(uint64(len(transferMagic)))
	if u.err == nil && string(begins) != transferMagic {
		return imported{}, errors.New("what another collector knew of a topology does not begin with " + transferMagic)
	}
	if v := u.bytes(1); u.err == nil && v[0] != transferVersion {
		return imported{}, fmt.Errorf("what another collector knew of a topology has version %d, this program knows %d: let all collectors be of one release",
			v[0], transferVersion)
	}
	name := string(u.part(func([]byte) error { return nil }))
	c := imported{names: u.part(catalog.CheckVersion), slices: u.part(slicer.CheckVersion), drops: map[int32]uint64{}}
	for n := u.number(); n > 0 && u.err == nil; n-- {
		u.left -= 2
		if u.left < 0 {
			u.fail(errors.New("it is too large for how it is packed"))
		}
		reason := int32(u.number())
		c.drops[reason] = u.number()
	}
	if _, more := u.Peek(1); u.err == nil && !errors.Is(more, io.EOF) {
		u.fail(errors.Join(errors.New("it does not end where it should"), more))
	}
	if u.err != nil {
		return imported{}, u.err
	}
	if name != topology {
		return imported{}, fmt.Errorf("it is of topology %q", name)
	}
	if c.series, err = catalog.Names(c.names); err != nil {
		return imported{}, err
	}
	if slices.ContainsFunc(c.series, func(s catalog.Named) bool { return s.Raw.Topology != topology }) {
		return imported{}, errors.New("it names another topology")
	}
	return c, nil
}

// Arriving looks at what a sender brings of its topology from another collector, and returns the series that it names,
// in the order of journal.Moved.Series. The error states why it cannot be taken up.
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

// handOut offers the state of each owned topology to its sender. It runs when the store has everything that closed, so
// a sender never takes away slices that were not stored here.
//
// A large topology is handed out less often, because packing it takes the feed's time (mostOfTime).
func (f *Feed) handOut() {
	if f.options.Transfers == nil {
		return
	}
	for topology, r := range f.pipeline.reached {
		if !r.newer || f.tickMs < r.nextMs {
			continue
		}
		begun := time.Now()
		data := f.pipeline.carry(topology, r)
		r.newer, r.nextMs = false, f.tickMs+max(handOutMs, mostOfTime*time.Since(begun).Milliseconds())
		if data == nil {
			f.options.Logger.Error("what is known of a topology is too much for its sender to carry; where this collector is lost, another starts it afresh",
				"topology", topology, "most_bytes", MaxTransferBytes)
		}
		f.options.Transfers.Put(topology, checkpoint.TransferState{Epoch: r.epoch, Sequence: r.sequence, Data: data})
	}
	f.options.Transfers.Keep(func(topology string) bool { return f.pipeline.reached[topology] != nil })
}
