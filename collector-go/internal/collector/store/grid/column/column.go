// Package column compresses a column: the slices of one series at even distances, numbers or distributions. It is pure,
// and exact to the bit. The format is docs/formats/grid.md.
package column

import "errors"

// MaxPlaces is the most places a column has.
const MaxPlaces = 8192

// MaxBuckets is the most buckets that a column of distributions holds in all its places together, and so one
// distribution too.
const MaxBuckets = 1 << 18

// ErrDamaged is what a column that cannot be decoded fails with.
var ErrDamaged = errors.New("column cannot be decoded")
