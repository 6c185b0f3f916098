package journal

import (
	"encoding/binary"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/varint"
)

// encodeMark is the record of a *Connected, *Disconnected, *Tick or *Started.
func encodeMark(e Entry) (k kind, payload []byte, timeMs int64, err error) {
	switch e := e.(type) {
	case *Connected:
		k, timeMs, payload = kindConnected, e.TimeMs, binary.AppendUvarint(nil, uint64(e.Producer))
	case *Disconnected:
		k, timeMs, payload = kindDisconnected, e.TimeMs, binary.AppendUvarint(nil, uint64(e.Producer))
	case *Tick:
		k, timeMs = kindTick, e.TimeMs
	case *Started:
		k, timeMs = kindStarted, e.TimeMs
	default:
		return 0, nil, 0, fmt.Errorf("journal: a %T is no mark", e)
	}
	return k, binary.AppendVarint(payload, timeMs), timeMs, nil
}

// decodeMark is the inverse of encodeMark.
func decodeMark(k kind, payload []byte) (e Entry, timeMs int64, err error) {
	c := varint.Of(payload)
	var producer ProducerID
	if k == kindConnected || k == kindDisconnected {
		producer = ProducerID(c.Uint32())
	}
	timeMs = c.Int()
	switch k {
	case kindConnected:
		e = &Connected{Producer: producer, TimeMs: timeMs}
	case kindDisconnected:
		e = &Disconnected{Producer: producer, TimeMs: timeMs}
	case kindTick:
		e = &Tick{TimeMs: timeMs}
	case kindStarted:
		e = &Started{TimeMs: timeMs}
	default:
		return nil, 0, errPayload
	}
	return e, timeMs, payloadError(c.Done())
}
