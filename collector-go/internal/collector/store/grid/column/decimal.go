package column

import "math"

// maxExponent is the largest number of decimals that is tried. Numbers with more are seldom decimal at all. The
// exponent takes four bits of the column's first byte.
const maxExponent = 10

// maxInteger limits whole numbers. A float64 cannot represent every whole number above it.
const maxInteger = 1 << 53

// powers are exact as float64, like all powers of ten up to 10^22.
var powers = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10}

// integer returns the whole number that gives exactly the bits of v when it is divided by 10^exponent. It returns false
// if there is none. -0 has none, because it would be decoded as 0.
func integer(v float64, exponent byte) (int64, bool) {
	scaled := v
	if exponent > 0 {
		scaled = math.RoundToEven(v * powers[exponent])
	}
	if !(scaled >= -maxInteger && scaled <= maxInteger) {
		return 0, false
	}
	i := int64(scaled)
	back := float64(i)
	if exponent > 0 {
		back /= powers[exponent]
	}
	return i, math.Float64bits(back) == math.Float64bits(v)
}

// exponentOf returns the least exponent, beginning with from, at which v is decimal. It returns false if there is
// none.
func exponentOf(v float64, from byte) (byte, bool) {
	for e := from; e <= maxExponent; e++ {
		if _, ok := integer(v, e); ok {
			return e, true
		}
	}
	return 0, false
}

// decimals fills e.integers and e.exceptions if nearly all values are decimal. Most metrics are: counts, and times in
// milliseconds. As whole numbers they take a fraction of the space of a float64.
//
// A sample of eight values first decides whether that is worth trying, and estimates the exponent. Other values may
// need a higher one, so the conversion is repeated up to four times.
func (e *Encoder) decimals(values []float64) (exponent byte, ok bool) {
	const samples = 8
	exponent, failed := byte(0), 0
	step := max(1, len(values)/samples)
	seen := 0
	for i := 0; i < len(values); i += step {
		if math.IsNaN(values[i]) {
			continue
		}
		seen++
		if found, ok := exponentOf(values[i], exponent); ok {
			exponent = found
		} else if failed++; failed > samples/2 {
			return 0, false
		}
	}
	if seen > 0 && failed == seen {
		return 0, false
	}
	for range 4 { // values outside of the sample may have more decimals
		more, ok := e.convert(values, exponent)
		if more == exponent {
			return exponent, ok
		}
		exponent = more
	}
	return 0, false
}

// convert fills e.integers and e.exceptions. If a value needs a higher exponent, it ends early and returns that.
//
// A value that is not decimal becomes an exception, whose bits are stored in addition to the integers. In the integers,
// the value before it takes its place, so that differences stay small. NaN, and therefore a gap marker, is always an
// exception. If exceptions would take too much space, convert returns false, and the column is stored as XORs.
func (e *Encoder) convert(values []float64, exponent byte) (byte, bool) {
	if cap(e.integers) < len(values) {
		e.integers = make([]int64, len(values), max(len(values), 1024))
	}
	e.integers, e.exceptions = e.integers[:len(values)], e.exceptions[:0]
	last := int64(0)
	power := powers[exponent]
	for i, v := range values {
		if exponent == 0 {
			x := int64(v)
			if math.Float64bits(float64(x)) == math.Float64bits(v) && x <= maxInteger && x >= -maxInteger {
				e.integers[i] = x
				last = x
				continue
			}
		} else if scaled := math.RoundToEven(v * power); scaled >= -maxInteger && scaled <= maxInteger {
			if x := int64(scaled); math.Float64bits(float64(x)/power) == math.Float64bits(v) {
				e.integers[i] = x
				last = x
				continue
			}
		}
		if !math.IsNaN(v) && len(e.exceptions) < 4 {
			if more, ok := exponentOf(v, exponent+1); ok {
				return more, false
			}
		}
		e.integers[i] = last
		e.exceptions = append(e.exceptions, exception{i, math.Float64bits(v)})
	}
	// An exception costs nine bytes, or one byte if it has the same bits as the one before.
	cost, lastBits := 0, uint64(staleBits)
	for _, x := range e.exceptions {
		if x.bits == lastBits {
			cost++
		} else {
			cost += 9
		}
		lastBits = x.bits
	}
	return exponent, cost <= 2*len(values)+18
}

// readDecimals fills values, and returns the bytes after them. It divides by the power of ten, as the encoder checked;
// multiplying by the inverse would give other bits. At the end it writes the exceptions over the integers that took
// their positions.
func readDecimals(src []byte, values []float64, exponent byte) ([]byte, error) {
	if exponent > maxExponent {
		return nil, ErrDamaged
	}
	n, src, err := readUvarint(src)
	if err != nil || n > uint64(len(values)) {
		return nil, ErrDamaged
	}
	exceptions := src
	if src, err = eachException(src, int(n), len(values), nil); err != nil {
		return nil, err
	}
	var r integerReader
	if err := r.open(src, len(values)); err != nil {
		return nil, err
	}
	var block [blockLen]uint64
	power := powers[exponent]
	to := values
	for r.left > 0 {
		k, err := r.next(&block)
		if err != nil {
			return nil, err
		}
		out := to[:k]
		if exponent == 0 {
			for i, x := range block[:k] {
				out[i] = float64(int64(x))
			}
		} else {
			for i, x := range block[:k] {
				out[i] = float64(int64(x)) / power
			}
		}
		to = to[k:]
	}
	_, err = eachException(exceptions, int(n), len(values), values)
	return r.src, err
}

// eachException reads n exceptions and, unless values is nil, writes them there. In a first pass the caller checks them
// and finds where the integers begin. After it has decoded these, a second pass writes the exceptions over them.
func eachException(src []byte, n, slots int, values []float64) (rest []byte, err error) {
	next, bits := uint64(0), uint64(staleBits)
	for range n {
		var gap uint64
		if gap, src, err = readUvarint(src); err != nil {
			return nil, err
		}
		if gap&1 == 0 {
			if bits, src, err = readBits64(src); err != nil {
				return nil, err
			}
		}
		if next += gap >> 1; next >= uint64(slots) {
			return nil, ErrDamaged
		}
		if values != nil {
			values[next] = math.Float64frombits(bits)
		}
		next++
	}
	return src, nil
}
