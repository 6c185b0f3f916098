package journal

import (
	"encoding/binary"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

const minSeriesBytes = 13

// used is a definition and the hour of its last use, in the form in which they are written.
type used[T any] struct {
	row  *T
	hour int64
}

// stringTable is the string table of a series record. Each distinct string is written once, because series share most
// of their strings.
type stringTable struct {
	index map[string]uint64
	list  []string
}

func (t *stringTable) of(s string) uint64 {
	i, ok := t.index[s]
	if !ok {
		i = uint64(len(t.list))
		t.index[s] = i
		t.list = append(t.list, s)
	}
	return i
}

// encodeSeries returns the payload of a series record. The string table comes first, so that a reader needs one pass.
func encodeSeries(rows []used[SeriesDefined]) []byte {
	table := stringTable{index: map[string]uint64{}}
	body := make([]byte, 0, 24*len(rows))
	var before int64
	for _, r := range rows {
		body = binary.AppendVarint(body, int64(r.row.ID)-before)
		before = int64(r.row.ID)
		body = appendRaw(body, &r.row.Series, &table)
		body = binary.AppendUvarint(body, uint64(max(r.hour, 0)))
	}
	payload := binary.AppendUvarint(nil, uint64(len(table.list)))
	for _, s := range table.list {
		payload = appendString(payload, s)
	}
	payload = binary.AppendUvarint(payload, uint64(len(rows)))
	return append(payload, body...)
}

// appendRaw appends a series' name, with its strings as indexes into the table. listsOnly depends on the number of
// values that appendRaw writes, so change both together.
func appendRaw(to []byte, r *metric.Raw, table *stringTable) []byte {
	for _, s := range [...]string{r.Topology, r.Host, r.Component, r.Name, r.Key} {
		to = binary.AppendUvarint(to, table.of(s))
	}
	to = binary.AppendUvarint(to, uint64(r.Port))
	to = binary.AppendVarint(to, int64(r.Task))
	to = append(to, byte(r.Shape), byte(r.Temporality))
	to = binary.AppendVarint(to, r.IntervalMs)
	return binary.AppendVarint(to, r.PackSpanMs)
}

// decodeSeries is the inverse of encodeSeries.
func decodeSeries(payload []byte) ([]seriesRow, error) {
	c := varint.Of(payload)
	table := make([]string, c.Count(1))
	for i := range table {
		table[i] = c.Text()
	}
	rows := make([]seriesRow, c.Count(minSeriesBytes))
	var before int64
	for i := range rows {
		before = nextID(&c, before)
		rows[i] = seriesRow{SeriesDefined: SeriesDefined{ID: SeriesID(before), Series: decodeRaw(&c, table)}}
		rows[i].usedHour = int64(c.Uint())
	}
	return rows, payloadError(c.Done())
}

// listsOnly reports whether a series record is valid and lists only known series. A reader that continues with the next
// segment already knows nearly all rows of its header. This check takes a quarter of the time of decoding them.
func listsOnly(payload []byte, known func(id uint32) bool) bool {
	const numbersBefore, bytesWithin, numbersAfter = 7, 2, 3 // of a row, after its id: see appendRaw
	c := varint.Of(payload)
	for range c.Count(1) {
		c.Sized()
	}
	var before int64
	for range c.Count(minSeriesBytes) {
		if before = nextID(&c, before); !known(uint32(before)) {
			return false
		}
		c.SkipUints(numbersBefore)
		c.Bytes(bytesWithin)
		c.SkipUints(numbersAfter)
	}
	return payloadError(c.Done()) == nil
}

// decodeRaw is the inverse of appendRaw. All series of a record share the strings of its table.
func decodeRaw(c *varint.Reader, table []string) metric.Raw {
	text := func() string {
		i := c.Uint()
		if i >= uint64(len(table)) {
			c.Fail(errPayload)
			return ""
		}
		return table[i]
	}
	var r metric.Raw
	r.Topology, r.Host, r.Component, r.Name, r.Key = text(), text(), text(), text(), text()
	r.Port = c.Uint32()
	r.Task = c.Int32()
	r.Shape, r.Temporality = metric.Shape(c.Byte()), metric.Temporality(c.Byte())
	r.IntervalMs, r.PackSpanMs = c.Int(), c.Int()
	return r
}

// encodeLayouts returns the payload of a layouts record.
func encodeLayouts(rows []used[LayoutDefined]) []byte {
	payload := binary.AppendUvarint(nil, uint64(len(rows)))
	var before int64
	for _, r := range rows {
		payload = binary.AppendVarint(payload, int64(r.row.ID)-before)
		before = int64(r.row.ID)
		payload = binary.AppendUvarint(payload, uint64(max(r.hour, 0)))
		payload = appendIDs(payload, r.row.Series)
	}
	return payload
}

// decodeLayouts is the inverse of encodeLayouts.
func decodeLayouts(payload []byte) ([]layoutRow, error) {
	c := varint.Of(payload)
	rows := make([]layoutRow, c.Count(4))
	var before int64
	for i := range rows {
		before = nextID(&c, before)
		rows[i].ID, rows[i].usedHour = LayoutID(before), int64(c.Uint())
		if rows[i].Series = decodeIDs[SeriesID](&c); len(rows[i].Series) == 0 {
			c.Fail(errPayload)
		}
	}
	return rows, payloadError(c.Done())
}

// appendIDs appends the number of ids, and each id as the difference to the one before.
func appendIDs[ID ~uint32](to []byte, ids []ID) []byte {
	to = binary.AppendUvarint(to, uint64(len(ids)))
	var before int64
	for _, id := range ids {
		to = binary.AppendVarint(to, int64(id)-before)
		before = int64(id)
	}
	return to
}

// decodeIDs is the inverse of appendIDs.
func decodeIDs[ID ~uint32](c *varint.Reader) []ID {
	n := c.Count(1)
	if n == 0 {
		return nil
	}
	ids := make([]ID, n)
	var before int64
	for i := range ids {
		before = nextID(c, before)
		ids[i] = ID(before)
	}
	return ids
}

// encodeProducers returns the payload of a producers record.
func encodeProducers(rows []used[ProducerDefined]) []byte {
	payload := binary.AppendUvarint(nil, uint64(len(rows)))
	for _, r := range rows {
		p := r.row
		payload = binary.AppendUvarint(payload, uint64(p.ID))
		payload = appendString(payload, p.Topology)
		payload = appendString(payload, p.TopologyID)
		payload = appendString(payload, p.Host)
		payload = binary.AppendUvarint(payload, uint64(p.Port))
		payload = binary.AppendVarint(payload, int64(p.Task))
		payload = binary.AppendUvarint(payload, uint64(max(r.hour, 0)))
	}
	return payload
}

// decodeProducers is the inverse of encodeProducers. Rows of version 1 (withHour false) have no hour and get nowHour.
func decodeProducers(payload []byte, withHour bool, nowHour int64) ([]producerRow, error) {
	c := varint.Of(payload)
	rows := make([]producerRow, c.Count(6))
	for i := range rows {
		rows[i] = producerRow{usedHour: nowHour, ProducerDefined: ProducerDefined{ID: ProducerID(c.Uint32()),
			Topology: c.Text(), TopologyID: c.Text(), Host: c.Text(), Port: c.Uint32(), Task: c.Int32()}}
		if rows[i].ID == 0 || rows[i].ID >= maxID {
			c.Fail(errPayload)
		}
		if withHour {
			rows[i].usedHour = int64(c.Uint())
		}
	}
	return rows, payloadError(c.Done())
}
