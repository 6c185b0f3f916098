// Package column compresses a column: the slices of one series at equal distances, either numbers or distributions. A
// column decodes to exactly the bits that were encoded. Otherwise query results would depend on whether a slice is in
// memory or on disk.
//
// The package has no state and does no I/O. Files may be damaged, so decoding must survive any bytes. It returns
// ErrDamaged for whatever cannot be decoded. It reserves memory only within MaxSlots and MaxBuckets, and two fuzz
// tests feed it arbitrary bytes.
//
// A column begins with its kind, and the encoder takes the first of these that fits:
//
//   - constant: all numbers are equal in their bits
//   - integers: nearly all numbers are decimal with few digits (decimal.go). They become whole numbers, which are
//     packed in blocks of 64 (integers.go, pack.go)
//   - XOR: the bits of each number are stored as their difference from the number before (xor.go)
//   - plain: eight bytes a number, where XOR would take more
//
// Distributions are split into rows of numbers, one for each field and bucket (histograms.go). presence.go records
// which slots hold a slice. docs/formats/grid.md describes the format byte by byte.
package column

import "errors"

// MaxSlots is the largest number of slots in a column. A reader decodes whole columns, so this limits its memory to
// 64 KiB for numbers.
const MaxSlots = 8192

// MaxBuckets is the largest number of buckets in a column of distributions, over all its slots. It is therefore also
// the largest number in one distribution. A reader reserves eight bytes for each.
const MaxBuckets = 1 << 18

// ErrDamaged means that a column cannot be decoded. It contains no details, because the part with the column adds the
// position, the series and the time.
var ErrDamaged = errors.New("column cannot be decoded")
