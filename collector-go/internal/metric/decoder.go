package metric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/prometheus/prometheus/model/labels"
)

// Decoder reads what an Encoder wrote. After the first error every value is zero and Err says what was wrong; no input makes
// it take more memory than a small multiple of its length.
type Decoder struct {
	bytes   []byte
	strings []string
	err     error
}

var errCut = errors.New("it ends in the middle of a value")

// NewDecoder checks the checksum and the magic, and returns the version.
func NewDecoder(data []byte, magic string) (*Decoder, uint64, error) {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, 0, fmt.Errorf("it does not begin with %q", magic)
	}
	body, sum := data[:len(data)-4], data[len(data)-4:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return nil, 0, errors.New("its checksum is wrong")
	}
	d := &Decoder{bytes: body[len(magic):]}
	version := d.Uint()
	return d, version, d.err
}

// Err is what was wrong first; bytes left over are wrong too, once all was read.
func (d *Decoder) Err() error { return d.err }

// Done is Err, or that bytes are left over.
func (d *Decoder) Done() error {
	if d.err == nil && len(d.bytes) > 0 {
		d.err = fmt.Errorf("%d bytes too many", len(d.bytes))
	}
	return d.err
}

// Fail notes that a value makes no sense.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.bytes = nil
}

// Uint reads what Encoder.Uint wrote.
func (d *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(d.bytes)
	if n <= 0 {
		d.Fail(errCut)
		return 0
	}
	d.bytes = d.bytes[n:]
	return v
}

// Uint32 reads an unsigned number of at most 32 bits.
func (d *Decoder) Uint32() uint32 {
	v := d.Uint()
	if v > math.MaxUint32 {
		d.Fail(fmt.Errorf("%d has more than 32 bits", v))
		return 0
	}
	return uint32(v)
}

// Int reads what Encoder.Int wrote.
func (d *Decoder) Int() int64 {
	v, n := binary.Varint(d.bytes)
	if n <= 0 {
		d.Fail(errCut)
		return 0
	}
	d.bytes = d.bytes[n:]
	return v
}

// Float reads what Encoder.Float wrote.
func (d *Decoder) Float() float64 {
	if len(d.bytes) < 8 {
		d.Fail(errCut)
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.bytes))
	d.bytes = d.bytes[8:]
	return v
}

// Bool reads what Encoder.Bool wrote.
func (d *Decoder) Bool() bool {
	v := d.Uint()
	if v > 1 {
		d.Fail(fmt.Errorf("%d is neither yes nor no", v))
	}
	return v == 1
}

// Count reads a number of things that take at least one byte each, so that no number asks for more than the input holds.
func (d *Decoder) Count() int {
	v := d.Uint()
	if v > uint64(len(d.bytes)) {
		d.Fail(fmt.Errorf("it says %d things follow in %d bytes", v, len(d.bytes)))
		return 0
	}
	return int(v)
}

// String reads what Encoder.String wrote.
func (d *Decoder) String() string {
	number := d.Uint()
	switch {
	case d.err != nil:
		return ""
	case number > uint64(len(d.strings)):
		d.Fail(fmt.Errorf("it names string %d of %d", number, len(d.strings)))
		return ""
	case number > 0:
		return d.strings[number-1]
	}
	length := d.Count()
	s := string(d.bytes[:length])
	d.bytes = d.bytes[length:]
	d.strings = append(d.strings, s)
	return s
}

// Worker reads what Encoder.Worker wrote.
func (d *Decoder) Worker() Worker {
	return Worker{Topology: d.String(), Host: d.String(), Port: d.Uint32()}
}

// Raw reads what Encoder.Raw wrote.
func (d *Decoder) Raw() Raw {
	return Raw{
		Worker:      d.Worker(),
		Component:   d.String(),
		Task:        int32(d.Int()),
		Name:        d.String(),
		Key:         d.String(),
		Shape:       Shape(d.small()),
		Temporality: Temporality(d.small()),
		IntervalMs:  d.Int(),
		PackSpanMs:  d.Int(),
	}
}

// Series reads what Encoder.Series wrote.
func (d *Decoder) Series() Series {
	kind := Kind(d.small())
	n := d.Count()
	builder := labels.NewScratchBuilder(n)
	previous := ""
	for range n {
		name, value := d.String(), d.String()
		if name <= previous {
			d.Fail(fmt.Errorf("label %q comes after %q", name, previous))
		}
		builder.Add(name, value)
		previous = name
	}
	if d.err != nil {
		return Series{}
	}
	return Series{Kind: kind, Labels: builder.Labels()}
}

// Rule reads what Encoder.Rule wrote.
func (d *Decoder) Rule() Rule {
	return Rule{
		Worker:       d.Worker(),
		Series:       d.Series(),
		MinName:      d.String(),
		MaxName:      d.String(),
		NegativeName: d.String(),
		RestartsName: d.String(),
		Temporality:  Temporality(d.small()),
		PerUnit:      d.Float(),
		Least:        d.Float(),
		Most:         d.Float(),
		IntervalMs:   d.Int(),
		PackSpanMs:   d.Int(),
	}
}

func (d *Decoder) small() uint8 {
	v := d.Uint()
	if v > math.MaxUint8 {
		d.Fail(fmt.Errorf("%d has more than 8 bits", v))
		return 0
	}
	return uint8(v)
}
