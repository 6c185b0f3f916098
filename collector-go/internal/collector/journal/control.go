package journal

import (
	"encoding/binary"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// encodeControl encodes a control record: a *Connected, *Disconnected, *Moved, *Tick or *Started. Control records
// contain no samples. They record the clock and the presence of senders in the order of the batches.
func encodeControl(e Entry) (k kind, payload []byte, timeMs int64, err error) {
	switch e := e.(type) {
	case *Connected:
		k, timeMs, payload = kindConnected, e.TimeMs, binary.AppendUvarint(nil, uint64(e.Producer))
	case *Disconnected:
		k, timeMs, payload = kindDisconnected, e.TimeMs, binary.AppendUvarint(nil, uint64(e.Producer))
	case *Moved:
		k, timeMs, payload = kindMoved, e.TimeMs, appendMoved(nil, e)
	case *Tick:
		k, timeMs = kindTick, e.TimeMs
	case *Started:
		k, timeMs = kindStarted, e.TimeMs
	default:
		return 0, nil, 0, fmt.Errorf("journal: a %T is not a control record", e)
	}
	return k, binary.AppendVarint(payload, timeMs), timeMs, nil
}

// decodeControl is the inverse of encodeControl. timeMs is returned separately, because recovery sets the journal's
// clock from control records of every kind. errPayload means that the payload is not one of this kind.
func decodeControl(k kind, payload []byte) (e Entry, timeMs int64, err error) {
	c := varint.Of(payload)
	var producer ProducerID
	if k == kindConnected || k == kindDisconnected || k == kindMoved {
		producer = ProducerID(c.Uint32())
	}
	var moved *Moved
	if k == kindMoved {
		moved = decodeMoved(&c)
	}
	timeMs = c.Int()
	switch k {
	case kindConnected:
		e = &Connected{Producer: producer, TimeMs: timeMs}
	case kindDisconnected:
		e = &Disconnected{Producer: producer, TimeMs: timeMs}
	case kindMoved:
		moved.Producer, moved.TimeMs = producer, timeMs
		e = moved
	case kindTick:
		e = &Tick{TimeMs: timeMs}
	case kindStarted:
		e = &Started{TimeMs: timeMs}
	default:
		return nil, 0, errPayload
	}
	return e, timeMs, payloadError(c.Done())
}

// appendMoved appends everything but the time, which is at the end of every control record. The series are in the order
// of the state that moves: they need not be sorted, and one may occur twice.
func appendMoved(to []byte, m *Moved) []byte {
	to = append(binary.AppendUvarint(to, uint64(m.Producer)), m.Epoch[:]...)
	first := byte(0)
	if m.First {
		first = 1
	}
	to = appendIDs(append(to, first), m.Series)
	return append(binary.AppendUvarint(to, uint64(len(m.State))), m.State...)
}

func decodeMoved(c *varint.Reader) *Moved {
	m := &Moved{}
	copy(m.Epoch[:], c.Bytes(len(m.Epoch)))
	m.First = c.Byte() == 1
	m.Series = decodeIDs[SeriesID](c)
	m.State = append([]byte(nil), c.Sized()...)
	return m
}
