package tuning

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// scatter is the allowed difference between two measurements of the same quantity.
type scatter struct {
	relative float64 // relative to the larger value
	points   float64 // percentage points
}

// scatters holds the scatter of measured values. All other values are equal only if their texts are.
var scatters = map[string]scatter{
	CalibratedRate: {relative: 0.05},
	BusyByOthers:   {points: 5},
}

// sameValue reports whether two values of a key are the same within their scatter.
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

// facts are the variables that a run knows only if they were stated, with the namespaces of their values.
var facts = []fact{{Hardware, OfMachine}, {SoftwareVersion, OfVersions}, {ClusterLoad, OfCluster}}

type fact struct {
	variable  Variable
	namespace string
}

func isFact(key string) bool {
	return slices.ContainsFunc(facts, func(f fact) bool { return strings.HasPrefix(key, f.namespace) })
}

// Undetermined returns the variables for which the two sides have no value in common, in the document's order. Whether
// they changed is unknown.
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
