package metric

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// decoder reads what an encoder wrote. After the first error every value is zero, and Err returns the error. For any
// input, its memory is at most a small multiple of the input's length.
type decoder struct {
	varint.Reader
	strings []string
}

// newDecoder checks the checksum and the magic, and returns the version. If the version is above known, the error is a
// disk.ErrNewer.
func newDecoder(data []byte, magic string, known uint64) (*decoder, uint64, error) {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, 0, fmt.Errorf("it does not begin with %q", magic)
	}
	body, sum := data[:len(data)-4], data[len(data)-4:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return nil, 0, errors.New("its checksum does not match")
	}
	d := &decoder{Reader: varint.Of(body[len(magic):])}
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

// Bool reads a value that encoder.Bool wrote.
func (d *decoder) Bool() bool {
	v := d.Uint()
	if v > 1 {
		d.Fail(fmt.Errorf("%d is not a boolean", v))
	}
	return v == 1
}

// String reads a value that encoder.String wrote.
func (d *decoder) String() string {
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
