package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// errPayload means that a record has a valid checksum but cannot be what was written. Recovery and readers count such a
// record as damage and skip it.
var errPayload = errors.New("payload does not match its record")

// payloadError wraps an error of decoding a payload in errPayload.
func payloadError(err error) error {
	if err == nil || errors.Is(err, errPayload) {
		return err
	}
	return fmt.Errorf("%w: %w", errPayload, err)
}

// nextID reads an id, which is written as the difference to the one before. Ids of adjacent rows are close together, so
// most of them take one byte.
func nextID(c *varint.Reader, before int64) int64 {
	id := before + c.Int()
	if id <= 0 || id >= maxID {
		c.Fail(errPayload)
		return 0
	}
	return id
}

func appendString(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}
