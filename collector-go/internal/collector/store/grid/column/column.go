// Package column compresses a column: the slices of one series at even distances, either numbers or distributions. A
// column decodes to exactly the bits that were encoded, because query results must not depend on whether a slice is
// still in memory or on disk.
//
// The package has no state and does no I/O. Files may be damaged, so decoding must survive any bytes: whatever cannot
// be decoded is ErrDamaged. Decoding reserves memory only within MaxPlaces and MaxBuckets, and two fuzz tests feed it
// arbitrary bytes.
//
// A column begins with its kind, and the encoder takes the first of these that fits:
//
//   - constant: all numbers are equal in their bits
//   - integers: nearly all numbers are decimal with few digits (decimal.go). They become whole numbers, which are
//     packed in blocks of 64 (integers.go, pack.go)
//   - XOR: the bits of each number are stored as their difference from the number before (xor.go)
//   - plain: eight bytes a number, where XOR would take more
//
// Distributions are taken apart into rows of numbers, one for each field and bucket (histograms.go). presence.go notes
// which places hold a slice. docs/formats/grid.md describes the format byte by byte.
package column

import "errors"

// MaxPlaces is the most places that a column has. A reader decodes whole columns, so this bounds its memory: 64 KiB for
// numbers.
const MaxPlaces = 8192

// MaxBuckets is the most buckets that a column of distributions holds in all its places together, and therefore the
// most that one distribution may have. A reader reserves eight bytes for each.
const MaxBuckets = 1 << 18

// ErrDamaged is the error for a column that cannot be decoded. It says no more, because the part that holds the column
// names the place, the series and the time.
var ErrDamaged = errors.New("column cannot be decoded")
