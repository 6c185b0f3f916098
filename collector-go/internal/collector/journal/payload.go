package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

var errPayload = errors.New("payload does not match its record")

// payloadError is what a payload's reader found wrong.
func payloadError(err error) error {
	if err == nil || errors.Is(err, errPayload) {
		return err
	}
	return fmt.Errorf("%w: %w", errPayload, err)
}

// nextID reads an id, which is written as its difference to the one before.
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
