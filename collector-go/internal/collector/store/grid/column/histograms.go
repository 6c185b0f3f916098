package column

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// ErrTooManyBuckets means that the distributions of a column have more than MaxBuckets buckets. A reader reserves
// memory for all buckets of a column, so the writer limits their number.
var ErrTooManyBuckets = errors.New("distributions hold more buckets than a column may")

// histogramBuffers holds the buffers of Histograms between calls. References to distributions are cleared after each
// call, so that the encoder does not keep any in memory.
type histogramBuffers struct {
	dense, real []*histogram.Histogram
	some        []uint64
	numbers     []int64
	cells       []int64
	sums        []float64
	sub         []byte
}

// Histograms appends a column of at most MaxSlots distributions. present has a bit for each slot that holds a slice;
// nil means that all do. A nil distribution at such a slot is a gap marker. If it returns ErrTooManyBuckets, nothing
// is appended, and the caller may try fewer slots.
//
// The distributions are stored by field: all counts, all zero counts, all sums, and then one bucket after the other.
// Distributions are cumulative, so each field is a counter and is packed like one.
func (e *Encoder) Histograms(dst []byte, all []*histogram.Histogram, present []uint64) ([]byte, error) {
	buffers := &e.histograms
	head := len(dst)
	dst = append(dst, kindDistributions)
	if present != nil && count(present, len(all)) < len(all) {
		dst = appendPresence(dst, present, len(all))
		dst[head] |= hasPresence
		buffers.dense = gather(buffers.dense[:0], all, present)
		all = buffers.dense
	}
	dst = buffers.markers(dst, all)
	real := buffers.real
	cells := 0
	for _, h := range real {
		if cells += len(h.PositiveBuckets) + len(h.NegativeBuckets); cells > MaxBuckets {
			return dst[:head], ErrTooManyBuckets
		}
	}
	shapes := shapesOf(real)
	dst = binary.AppendUvarint(dst, uint64(len(shapes)))
	for i, from := range shapes {
		dst = appendShape(dst, real[from], end(shapes, i, len(real))-from)
	}
	each := func(of func(h *histogram.Histogram) int64) {
		numbers := buffers.numbers[:0]
		for _, h := range real {
			numbers = append(numbers, of(h))
		}
		buffers.numbers = numbers
		dst = appendIntegers(dst, numbers)
	}
	each(func(h *histogram.Histogram) int64 { return int64(h.CounterResetHint) })
	each(func(h *histogram.Histogram) int64 { return int64(h.Count) })
	each(func(h *histogram.Histogram) int64 { return int64(h.ZeroCount) })
	buffers.sums = buffers.sums[:0]
	for _, h := range real {
		buffers.sums = append(buffers.sums, h.Sum)
	}
	buffers.sub = e.Floats(buffers.sub[:0], buffers.sums, nil)
	dst = append(binary.AppendUvarint(dst, uint64(len(buffers.sub))), buffers.sub...)
	for i, from := range shapes {
		dst = buffers.buckets(dst, real[from:end(shapes, i, len(real))])
	}
	clear(buffers.dense)
	clear(buffers.real)
	return dst, nil
}

// end returns where the shape that begins at starts[i] ends.
func end(starts []int, i, all int) int {
	if i+1 < len(starts) {
		return starts[i+1]
	}
	return all
}

// markers writes which of the distributions are not gap markers, and collects those in r.real. A marker has no fields,
// so nothing else is written for it.
func (r *histogramBuffers) markers(dst []byte, all []*histogram.Histogram) []byte {
	r.real = r.real[:0]
	r.some = append(r.some[:0], make([]uint64, (len(all)+63)/64)...)
	for i, h := range all {
		if h != nil {
			r.some[i>>6] |= 1 << (i & 63)
			r.real = append(r.real, h)
		}
	}
	return appendPresence(dst, r.some, len(all))
}

// shapesOf returns where each shape begins. A shape says which buckets there are: schema, threshold, spans and custom
// bounds. It is written once for all consecutive distributions that have it.
func shapesOf(all []*histogram.Histogram) []int {
	var starts []int
	for i, h := range all {
		if i == 0 || !sameShape(all[i-1], h) {
			starts = append(starts, i)
		}
	}
	return starts
}

// sameShape reports whether two distributions have the same buckets. Floats are compared by their bits, since a column
// must decode to the bits that were encoded: 0 and -0 are different thresholds.
func sameShape(a, b *histogram.Histogram) bool {
	return a.Schema == b.Schema && math.Float64bits(a.ZeroThreshold) == math.Float64bits(b.ZeroThreshold) &&
		len(a.PositiveBuckets) == len(b.PositiveBuckets) && len(a.NegativeBuckets) == len(b.NegativeBuckets) &&
		slices.Equal(a.PositiveSpans, b.PositiveSpans) && slices.Equal(a.NegativeSpans, b.NegativeSpans) &&
		slices.EqualFunc(a.CustomValues, b.CustomValues, func(x, y float64) bool {
			return math.Float64bits(x) == math.Float64bits(y)
		})
}

// appendShape writes a shape and the number of consecutive distributions that have it. Custom bounds are written as
// eight bytes each, since they may be any numbers.
func appendShape(dst []byte, h *histogram.Histogram, times int) []byte {
	dst = binary.AppendUvarint(dst, uint64(times))
	dst = binary.AppendVarint(dst, int64(h.Schema))
	dst = appendBits64(dst, math.Float64bits(h.ZeroThreshold))
	dst = appendSpans(dst, h.PositiveSpans, len(h.PositiveBuckets))
	dst = appendSpans(dst, h.NegativeSpans, len(h.NegativeBuckets))
	dst = binary.AppendUvarint(dst, uint64(len(h.CustomValues)))
	for _, v := range h.CustomValues {
		dst = appendBits64(dst, math.Float64bits(v))
	}
	return dst
}

// appendSpans writes spans and the number of their buckets. The number is written separately, because a histogram's
// buckets may differ in number from its spans' lengths.
func appendSpans(dst []byte, spans []histogram.Span, buckets int) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(spans)))
	for _, s := range spans {
		dst = binary.AppendVarint(dst, int64(s.Offset))
		dst = binary.AppendUvarint(dst, uint64(s.Length))
	}
	return binary.AppendUvarint(dst, uint64(buckets))
}

// buckets writes the buckets of distributions with one shape, one bucket after the other. A histogram has the first
// count and then the differences between adjacent buckets, but a column has counts. The counts of one bucket only grow
// from one distribution to the next, which the differences do not.
func (r *histogramBuffers) buckets(dst []byte, all []*histogram.Histogram) []byte {
	n := len(all)
	for _, of := range [2]func(h *histogram.Histogram) []int64{positive, negative} {
		width := len(of(all[0]))
		r.cells = slices.Grow(r.cells[:0], n*width)[:n*width]
		for i, h := range all {
			sum := int64(0)
			for b, d := range of(h) {
				sum += d
				r.cells[b*n+i] = sum
			}
		}
		for b := range width {
			dst = appendIntegers(dst, r.cells[b*n:(b+1)*n])
		}
	}
	return dst
}

func positive(h *histogram.Histogram) []int64 { return h.PositiveBuckets }
func negative(h *histogram.Histogram) []int64 { return h.NegativeBuckets }

// Histograms decodes a column of distributions with a number of slots. present is nil if all slots hold a slice. A
// nil distribution at a slot that does is a gap marker. Distributions of one shape share their spans, so the caller
// must not change them.
func Histograms(src []byte, slots int) (all []*histogram.Histogram, present []uint64, err error) {
	if !IsDistributions(src) || slots > MaxSlots {
		return nil, nil, ErrDamaged
	}
	head := src[0]
	src = src[1:]
	stored := slots
	if head&hasPresence != 0 {
		if present, stored, src, err = readPresence(src, slots); err != nil {
			return nil, nil, err
		}
	}
	some, m, src, err := readPresence(src, stored)
	if err != nil {
		return nil, nil, err
	}
	real, err := readReal(src, m)
	if err != nil {
		return nil, nil, err
	}
	all = make([]*histogram.Histogram, slots)
	for i := range real {
		all[i] = &real[i]
	}
	if some != nil {
		for i := m; i < stored; i++ {
			all[i] = nil
		}
		scatterPointers(all[:stored], some, m)
	}
	if present != nil {
		scatterPointers(all, present, stored)
	}
	return all, present, nil
}

// scatterPointers is like scatter, but leaves nil at the other slots, because nil means a gap marker or no slice.
func scatterPointers(all []*histogram.Histogram, present []uint64, stored int) {
	for at := len(all) - 1; at >= 0; at-- {
		if !has(present, at) {
			if at >= stored {
				all[at] = nil
			}
			continue
		}
		if stored--; stored != at {
			all[at], all[stored] = all[stored], nil
		}
	}
}

// shape is a distribution without its numbers. Decoding begins with a copy of it for each distribution that has the
// shape.
type shape struct {
	like               histogram.Histogram
	times              int
	positive, negative int // buckets
}

// readReal reads n distributions, which must take all of src. The caller has checked that n is within MaxSlots, and
// readShapes checks that the buckets are within MaxBuckets.
func readReal(src []byte, n int) ([]histogram.Histogram, error) {
	shapes, src, err := readShapes(src, n)
	if err != nil {
		return nil, err
	}
	all := make([]histogram.Histogram, n)
	to := all
	for _, s := range shapes {
		for i := range to[:s.times] {
			to[i] = s.like
		}
		to = to[s.times:]
	}
	numbers := make([]int64, n)
	for _, set := range [3]func(h *histogram.Histogram, v int64){
		func(h *histogram.Histogram, v int64) { h.CounterResetHint = histogram.CounterResetHint(v) },
		func(h *histogram.Histogram, v int64) { h.Count = uint64(v) },
		func(h *histogram.Histogram, v int64) { h.ZeroCount = uint64(v) },
	} {
		if src, err = readIntegers(src, numbers); err != nil {
			return nil, err
		}
		for i, v := range numbers {
			set(&all[i], v)
		}
	}
	if src, err = readSums(src, all); err != nil {
		return nil, err
	}
	to = all
	for _, s := range shapes {
		if src, err = readBuckets(src, s, to[:s.times], numbers); err != nil {
			return nil, err
		}
		to = to[s.times:]
	}
	if len(src) != 0 {
		return nil, ErrDamaged
	}
	return all, nil
}

// readSums reads the sums, which are a column of their own.
func readSums(src []byte, all []histogram.Histogram) ([]byte, error) {
	r := varint.Of(src)
	sums := make([]float64, len(all))
	if present, err := Floats(r.Sized(), sums); err != nil || present != nil {
		return nil, ErrDamaged
	}
	for i, v := range sums {
		all[i].Sum = v
	}
	return r.Rest(), nil
}

// readShapes reads the shapes of n distributions. Every distribution must have one, and there may be at most MaxBuckets
// buckets in total. Both are checked before memory for the distributions is reserved.
func readShapes(src []byte, n int) ([]shape, []byte, error) {
	r := varint.Of(src)
	shapes := make([]shape, r.Length(min(n, len(src))))
	left, cells := n, 0
	for i := range shapes {
		s := readShape(&r, left)
		if cells += s.times * (s.positive + s.negative); cells > MaxBuckets {
			return nil, nil, ErrDamaged
		}
		left -= s.times
		shapes[i] = s
	}
	if r.Err() != nil || left != 0 {
		return nil, nil, ErrDamaged
	}
	return shapes, r.Rest(), nil
}

// readShape reads one shape, which at most left distributions may have.
func readShape(r *varint.Reader, left int) (s shape) {
	if s.times = r.Length(left); s.times == 0 {
		r.Fail(ErrDamaged)
	}
	s.like.Schema = r.Int32()
	s.like.ZeroThreshold = r.Float()
	s.like.PositiveSpans, s.positive = readSpans(r)
	s.like.NegativeSpans, s.negative = readSpans(r)
	if custom := r.Count(8); custom > 0 {
		s.like.CustomValues = make([]float64, custom)
	}
	for i := range s.like.CustomValues {
		s.like.CustomValues[i] = r.Float()
	}
	return s
}

// readSpans reads spans and the number of their buckets. The number of remaining bytes limits both, so a few damaged
// bytes cannot reserve much memory.
func readSpans(r *varint.Reader) (spans []histogram.Span, buckets int) {
	if n := r.Count(2); n > 0 {
		spans = make([]histogram.Span, n)
	}
	for i := range spans {
		spans[i] = histogram.Span{Offset: r.Int32(), Length: r.Uint32()}
	}
	return spans, r.Length(min(r.Len(), MaxBuckets))
}

// readBuckets reads the buckets of distributions with one shape. numbers is a buffer. A column has counts, which are
// converted to the differences between adjacent buckets at the end. All distributions share one block of memory, in
// which the buckets of each are adjacent.
func readBuckets(src []byte, s shape, all []histogram.Histogram, numbers []int64) (rest []byte, err error) {
	numbers = numbers[:len(all)]
	for sign, width := range [2]int{s.positive, s.negative} {
		if width == 0 {
			continue
		}
		if width > len(src) { // the integers of a bucket take at least two bytes
			return nil, ErrDamaged
		}
		cells := make([]int64, width*len(all))
		for b := range width {
			if src, err = readIntegers(src, numbers); err != nil {
				return nil, err
			}
			for i, v := range numbers {
				cells[i*width+b] = v
			}
		}
		for i := range all {
			counts := cells[i*width : (i+1)*width : (i+1)*width]
			for b := width - 1; b > 0; b-- {
				counts[b] -= counts[b-1]
			}
			if sign == 0 {
				all[i].PositiveBuckets = counts
			} else {
				all[i].NegativeBuckets = counts
			}
		}
	}
	return src, nil
}
