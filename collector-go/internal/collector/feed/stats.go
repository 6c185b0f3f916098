package feed

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// maxSenders is the number of sender epochs whose drop counts are kept. Beyond it the oldest is forgotten, because a
// sender that was replaced sends no more.
const maxSenders = 4096

// stats is the feed's own part of the accounting: the samples that it read, and the samples that producers reported as
// dropped. The other counts are in the snapshots of catalog and slicer.
//
// stats is saved in the same checkpoint as those. Otherwise the sums would not match after a restart, and the
// cumulative drop counts of senders would be added twice.
type stats struct {
	read          uint64 // samples, including histograms
	expired       uint64 // of read: samples that the journal released before the feed read them
	moved         uint64 // of read: open samples dropped for the state that a sender brought from another collector
	badHistograms uint64

	unknownLayouts uint64    // of read: samples of blocks whose layout was defined in a damaged part of the journal
	senders        []*sender // the oldest first
	drops          map[dropKey]uint64
	owed           map[slice.Ref]gap // markers owed to series that lost slices, until those continue
}

// dropKey identifies a sum of dropped samples. The reason is the name on the wire, such as "queue_full".
type dropKey struct{ topology, reason string }

// sender holds the cumulative drop counts that one process of a sender last reported. Only increases are added to the
// sums. The epoch identifies the process, because a restarted sender counts from 0.
type sender struct {
	epoch journal.Epoch
	last  map[int32]uint64 // by the wire's reason code
}

func newStats() *stats { return &stats{drops: map[dropKey]uint64{}, owed: map[slice.Ref]gap{}} }

// dropped adds the increase of a sender's cumulative count. It returns the increase and the name of the reason.
func (l *stats) dropped(epoch journal.Epoch, topology string, drop *bulletmetricsv1.Drop) (reason string,
	added uint64) {
	s := l.sender(epoch)
	code, name := int32(drop.GetReason()), reasonName(drop.GetReason())
	if last := s.last[code]; drop.GetTotalSamples() > last {
		added = drop.GetTotalSamples() - last
		l.drops[dropKey{topology, name}] += added
		s.last[code] = drop.GetTotalSamples()
	}
	return name, added
}

// sender returns the counts of an epoch, and creates them if needed. If there are too many epochs, the oldest is
// forgotten. If that epoch reports again, its whole count is added a second time.
func (l *stats) sender(epoch journal.Epoch) *sender {
	for i := len(l.senders) - 1; i >= 0; i-- {
		if l.senders[i].epoch == epoch {
			return l.senders[i]
		}
	}
	s := &sender{epoch: epoch, last: map[int32]uint64{}}
	l.senders = append(l.senders, s)
	if len(l.senders) > maxSenders {
		l.senders = l.senders[1:]
	}
	return s
}

// reasonName returns the name of a reason, such as "queue_full" for DROP_REASON_QUEUE_FULL. A reason of a newer plugin
// is "unspecified".
func reasonName(r bulletmetricsv1.DropReason) string {
	name, known := bulletmetricsv1.DropReason_name[int32(r)]
	if !known {
		name = bulletmetricsv1.DropReason_DROP_REASON_UNSPECIFIED.String()
	}
	return string(bytes.ToLower([]byte(name[len("DROP_REASON_"):])))
}

// snapshot returns the stats as bytes. Equal stats give equal bytes. New fields must be added at the end, because
// restoreStats recognises the output of release 0.1.0 by the missing fields.
func (l *stats) snapshot() []byte {
	data := binary.AppendUvarint(nil, l.read)
	data = binary.AppendUvarint(data, l.badHistograms)
	data = binary.AppendUvarint(data, uint64(len(l.senders)))
	for _, s := range l.senders {
		data = append(data, s.epoch[:]...)
		data = binary.AppendUvarint(data, uint64(len(s.last)))
		for _, reason := range slices.Sorted(maps.Keys(s.last)) {
			data = binary.AppendUvarint(data, uint64(reason))
			data = binary.AppendUvarint(data, s.last[reason])
		}
	}
	data = binary.AppendUvarint(data, uint64(len(l.drops)))
	for _, key := range slices.SortedFunc(maps.Keys(l.drops), func(a, b dropKey) int {
		return cmp.Or(strings.Compare(a.topology, b.topology), strings.Compare(a.reason, b.reason))
	}) {
		data = appendText(appendText(data, key.topology), key.reason)
		data = binary.AppendUvarint(data, l.drops[key])
	}
	data = binary.AppendUvarint(data, l.expired)
	data = binary.AppendUvarint(data, uint64(len(l.owed)))
	for _, ref := range slices.Sorted(maps.Keys(l.owed)) {
		g, kind := l.owed[ref], uint64(0)
		if g.distribution {
			kind = 1
		}
		data = binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(data, uint64(ref)), uint64(g.endMs)),
			kind)
	}
	return binary.AppendUvarint(binary.AppendUvarint(data, l.unknownLayouts), l.moved)
}

func appendText(data []byte, s string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(s))), s...)
}

// restoreStats reads what snapshot wrote. Fields that release 0.1.0 did not write are then 0.
func restoreStats(data []byte) (*stats, error) {
	r := varint.Of(data)
	l := newStats()
	l.read, l.badHistograms = r.Uint(), r.Uint()
	for range r.Count(1) {
		s := &sender{last: map[int32]uint64{}}
		copy(s.epoch[:], r.Bytes(len(s.epoch)))
		for range r.Count(1) {
			reason := int32(r.Uint())
			s.last[reason] = r.Uint()
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
		l.senders = append(l.senders, s)
	}
	for range r.Count(1) {
		key := dropKey{r.Text(), r.Text()}
		l.drops[key] = r.Uint()
	}
	l.expired = r.Uint()
	for range r.Count(1) {
		ref := slice.Ref(r.Uint())
		l.owed[ref] = gap{int64(r.Uint()), r.Uint() == 1}
	}
	if r.Len() > 0 { // release 0.1.0 did not write these
		l.unknownLayouts, l.moved = r.Uint(), r.Uint()
	}
	return l, r.Err()
}
