package slicer

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// What every slice reads of a series begins a line of the processor's cache, since the allocator puts objects of these
// sizes there, and takes no more than it must.
func TestWhatEverySliceReadsIsCloseTogether(t *testing.T) {
	const line = 64
	assert.Zero(t, unsafe.Sizeof(input{})%line)
	assert.EqualValues(t, line, unsafe.Sizeof(slot{}))
	assert.LessOrEqual(t, unsafe.Offsetof(input{}.rule), uintptr(line))
	assert.EqualValues(t, pageBytes, 8*pageSlots+unsafe.Sizeof(origins{}))
	assert.EqualValues(t, stripBytes, unsafe.Sizeof(strip{}))
}
