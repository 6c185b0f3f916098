package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// walked returns the values of a host's rows, step after step, and the sums over all given hosts.
func walked(seed uint64, hosts []int, host, steps int) (values []float64, sums []float64) {
	w := NewRows(seed, 10, 3).Walk(hosts)
	for range steps {
		w.Next()
		for i, h := range hosts {
			if h == host {
				values = append(values, w.Values[3*i:3*i+3]...)
			}
		}
	}
	return values, w.Sums
}

func TestRowsFollowFromTheSeedAlone(t *testing.T) {
	alone, _ := walked(7, []int{4}, 4, 50)
	among, _ := walked(7, []int{9, 4, 1}, 4, 50)
	other, _ := walked(8, []int{4}, 4, 50)
	assert.Equal(t, alone, among, "whoever sends a host's rows, with whatever others")
	assert.NotEqual(t, alone, other)
	moved := false
	for i, v := range alone {
		assert.Equal(t, float64(int(v)), v)
		assert.True(t, v >= 0 && v <= 100, v)
		moved = moved || v != alone[i%3]
	}
	assert.True(t, moved, "a walk, not a constant")
}

func TestSumsAreOfAllValues(t *testing.T) {
	want := make([]float64, 3)
	for h := range 10 {
		values, _ := walked(1, []int{h}, h, 40)
		for i, v := range values {
			want[i%3] += v
		}
	}
	_, even := walked(1, []int{0, 2, 4, 6, 8}, 0, 40)
	_, odd := walked(1, []int{1, 3, 5, 7, 9}, 1, 40)
	for m := range want {
		assert.Equal(t, want[m], even[m]+odd[m])
	}
}
