package metric

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// Decoder reads what an Encoder wrote. After the first error every value is zero, and Err returns the error. For any
// input, its memory is at most a small multiple of the input's length.
type Decoder struct {
	varint.Reader
	strings []string
}

// NewDecoder checks the checksum and the magic, and returns the version. If the version is above known, the error is a
// disk.ErrNewer.
func NewDecoder(data []byte, magic string, known uint64) (*Decoder, uint64, error) {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, 0, fmt.Errorf("it does not begin with %q", magic)
	}
	body, sum := data[:len(data)-4], data[len(data)-4:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return nil, 0, errors.New("its checksum does not match")
	}
	d := &Decoder{Reader: varint.Of(body[len(magic):])}
	version := d.Uint()
	if err := d.Err(); err != nil {
		return nil, 0, err
	}
	return d, version, disk.CheckVersion(version, known)
}

// CheckVersion checks the magic, and returns a disk.ErrNewer if the version is above known. It does not check the
// rest.
func CheckVersion(data []byte, magic string, known uint64) error {
	rest, found := bytes.CutPrefix(data, []byte(magic))
	if !found {
		return fmt.Errorf("it does not begin with %q", magic)
	}
	r := varint.Of(rest)
	version := r.Uint()
	return errors.Join(r.Err(), disk.CheckVersion(version, known))
}

// Bool reads a value that Encoder.Bool wrote.
func (d *Decoder) Bool() bool {
	v := d.Uint()
	if v > 1 {
		d.Fail(fmt.Errorf("%d is not a boolean", v))
	}
	return v == 1
}

// String reads a value that Encoder.String wrote.
func (d *Decoder) String() string {
	number := d.Uint()
	switch {
	case d.Err() != nil:
		return ""
	case number > uint64(len(d.strings)):
		d.Fail(fmt.Errorf("it refers to string %d of %d", number, len(d.strings)))
		return ""
	case number > 0:
		return d.strings[number-1]
	}
	s := d.Text()
	d.strings = append(d.strings, s)
	return s
}

// Worker reads a value that Encoder.Worker wrote.
func (d *Decoder) Worker() Worker {
	return Worker{Topology: d.String(), Host: d.String(), Port: d.Uint32()}
}

// Raw reads a value that Encoder.Raw wrote.
func (d *Decoder) Raw() Raw {
	return Raw{
		Worker:      d.Worker(),
		Component:   d.String(),
		Task:        int32(d.Int()),
		Name:        d.String(),
		Key:         d.String(),
		Shape:       Shape(d.Uint8()),
		Temporality: Temporality(d.Uint8()),
		IntervalMs:  d.Int(),
		PackSpanMs:  d.Int(),
	}
}

// Series reads a value that Encoder.Series wrote.
func (d *Decoder) Series() Series {
	kind := Kind(d.Uint8())
	n := d.Count(1)
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
	if d.Err() != nil {
		return Series{}
	}
	return Series{Kind: kind, Labels: builder.Labels()}
}

// Rule reads a value that Encoder.Rule wrote.
func (d *Decoder) Rule() Rule {
	return Rule{
		Worker:       d.Worker(),
		Series:       d.Series(),
		MinName:      d.String(),
		MaxName:      d.String(),
		NegativeName: d.String(),
		RestartsName: d.String(),
		Temporality:  Temporality(d.Uint8()),
		PerUnit:      d.Float(),
		Least:        d.Float(),
		Most:         d.Float(),
		IntervalMs:   d.Int(),
		PackSpanMs:   d.Int(),
	}
}
