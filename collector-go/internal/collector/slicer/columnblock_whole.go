package slicer

import "math"

// rowsTogether are added at once: what they are added to is read and written once for all of them.
const rowsTogether = 4

// foldWhole folds some columns whose values are taken as they are; those of each are added in the order of time. It
// takes two thirds of the time that min and max of doubles take, row by row.
func (x *columnBlock) foldWhole(first, end int) {
	var least, greatest [columnsTogether]int64
	means := x.means[first:end]
	low, high := least[:len(means)], greatest[:len(means)]
	var waiting [rowsTogether][]float64
	n := -1 // rows that wait
	for values := range x.inTime {
		values = values[first:end]
		if n < 0 {
			beginColumns(means, low, high, values)
			n = 0
			continue
		}
		waiting[n] = values
		if n++; n == rowsTogether {
			addFour(means, low, high, &waiting)
			n = 0
		}
	}
	for _, values := range waiting[:max(n, 0)] {
		addOne(means, low, high, values)
	}
	rows := float64(len(x.rows))
	for i, sum := range means {
		l, g := ofOrder(low[i]), ofOrder(high[i])
		x.least[first+i], x.greatest[first+i] = l, g
		means[i] = min(max(sum/rows, l), g)
	}
}

// inOrder is a number that is less than another one's where the double is, -0 before +0, as min has it. There are no
// doubles here that are no numbers.
func inOrder(v float64) int64 {
	bits := int64(math.Float64bits(v))
	return bits ^ int64(uint64(bits>>63)>>1)
}

// ofOrder is the inverse of inOrder.
func ofOrder(n int64) float64 { return math.Float64frombits(uint64(n ^ int64(uint64(n>>63)>>1))) }

func beginColumns(sums []float64, least, greatest []int64, values []float64) {
	for i, v := range values {
		sums[i] = 0 + v
		least[i] = inOrder(v)
		greatest[i] = least[i]
	}
}

func addOne(sums []float64, least, greatest []int64, values []float64) {
	n := len(sums)
	least, greatest, values = least[:n], greatest[:n], values[:n]
	for i := range sums {
		v := values[i]
		sums[i] += v
		least[i], greatest[i] = min(least[i], inOrder(v)), max(greatest[i], inOrder(v))
	}
}

// addFour is addOne for one row after the other.
func addFour(sums []float64, least, greatest []int64, rows *[rowsTogether][]float64) {
	n := len(sums)
	least, greatest = least[:n], greatest[:n]
	a, b, c, d := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
	for i := range sums {
		sums[i] = sums[i] + a[i] + b[i] + c[i] + d[i]
		v, w, x, y := inOrder(a[i]), inOrder(b[i]), inOrder(c[i]), inOrder(d[i])
		least[i] = min(least[i], min(v, w), min(x, y))
		greatest[i] = max(greatest[i], max(v, w), max(x, y))
	}
}
