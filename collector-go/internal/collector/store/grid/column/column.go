// Package column compresses a column: the slices of one series at even distances, either numbers or distributions. A
// column decodes to exactly the bits that were encoded, because query results must not depend on whether a slice is
// still in memory or on disk.
//
// The package has no state and does no I/O. Files may be damaged, so decoding must survive any bytes: whatever cannot
// be decoded is ErrDamaged.
//
// A column begins with its kind. Numbers that are decimal with few digits become whole numbers (decimal.go), and whole
// numbers are packed in blocks of 64 (integers.go, pack.go). All other numbers are stored as XORs with their
// predecessors (xor.go). Distributions are taken apart into rows of numbers, one for each field and bucket
// (histograms.go). presence.go notes which places hold a slice. docs/formats/grid.md describes the format.
package column

import "errors"

// MaxPlaces is the most places that a column has. A reader decodes whole columns, so this bounds its memory.
const MaxPlaces = 8192

// MaxBuckets is the most buckets that a column of distributions holds in all its places together, and therefore the
// most that one distribution may have.
const MaxBuckets = 1 << 18

// ErrDamaged is the error for a column that cannot be decoded.
var ErrDamaged = errors.New("column cannot be decoded")
