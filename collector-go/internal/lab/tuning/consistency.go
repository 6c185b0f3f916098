package tuning

import (
	"math"
	"strconv"
	"strings"
)

// scatter is how far apart two measurements of the same may be.
type scatter struct {
	relative float64 // of the larger
	points   float64 // of percent
}

// scatters are those of measured values; all others are the same when their texts are.
var scatters = map[string]scatter{
	CalibratedRate: {relative: 0.05},
	BusyByOthers:   {points: 5},
}

// sameValue reports whether two values of a key are the same, as far as anybody can measure.
func sameValue(key, a, b string) bool {
	s, measured := scatters[key]
	if a == b || !measured {
		return a == b
	}
	x, failed := strconv.ParseFloat(strings.TrimSuffix(a, "%"), 64)
	y, failedToo := strconv.ParseFloat(strings.TrimSuffix(b, "%"), 64)
	if failed != nil || failedToo != nil {
		return false
	}
	apart := math.Abs(x - y)
	return apart <= s.points || apart <= s.relative*math.Max(math.Abs(x), math.Abs(y))
}

// facts are the variables that a run knows of only where somebody stated them, and the namespaces of their values.
var facts = []struct {
	variable  Variable
	namespace string
}{{Hardware, OfMachine}, {SoftwareVersion, OfVersions}, {ClusterLoad, OfCluster}}

func isFact(key string) bool {
	for _, f := range facts {
		if strings.HasPrefix(key, f.namespace) {
			return true
		}
	}
	return false
}

// Undetermined are the variables, in the document's order, of which the two sides have no value in common: whether they
// moved is unknown.
func Undetermined(before, after map[string]string) []Variable {
	undetermined := []Variable{}
	for _, f := range facts {
		common := false
		for key := range before {
			_, both := after[key]
			common = common || both && strings.HasPrefix(key, f.namespace)
		}
		if !common {
			undetermined = append(undetermined, f.variable)
		}
	}
	return undetermined
}
