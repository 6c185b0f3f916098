package slicer

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestWhatEverySliceReadsIsCloseTogether checks the sizes of what every slice reads of a series. Objects of these sizes
// start at a cache line, because of how the allocator works, and are no larger than necessary.
func TestWhatEverySliceReadsIsCloseTogether(t *testing.T) {
	const line = 64
	assert.Zero(t, unsafe.Sizeof(input{})%line)
	assert.EqualValues(t, line, unsafe.Sizeof(slot{}))
	assert.LessOrEqual(t, unsafe.Offsetof(input{}.rule), uintptr(line))
	assert.EqualValues(t, pageBytes, 8*pageSlots+unsafe.Sizeof(origins{}))
	assert.EqualValues(t, stripBytes, unsafe.Sizeof(strip{}))
}
