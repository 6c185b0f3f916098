package journal

import (
	"fmt"
	"strconv"
	"strings"
)

// positionOf returns the position of an offset in the file of a segment.
func positionOf(number uint32, offset int64) Position {
	return Position(uint64(number)<<32 | uint64(offset))
}

// Segment returns the number of the segment that contains the position.
func (p Position) Segment() uint32 { return uint32(p >> 32) }
func (p Position) offset() int64   { return int64(uint32(p)) }

// String returns segment and offset, for logs.
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Segment(), p.offset()) }

const segmentSuffix = ".segment"

// segmentName returns the name of a segment's file in the journal's directory.
func segmentName(number uint32) string { return fmt.Sprintf("%010d%s", number, segmentSuffix) }

// parseSegmentName is the inverse of segmentName. Other files in the directory are ignored.
func parseSegmentName(name string) (number uint32, ok bool) {
	digits, found := strings.CutSuffix(name, segmentSuffix)
	if !found || len(digits) != 10 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil && n > 0
}
