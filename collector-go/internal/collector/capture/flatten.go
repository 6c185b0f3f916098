package capture

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// maxDepth is how many levels of nested maps the plugin follows. It must equal Flattener.MAX_DEPTH in the plugin.
const maxDepth = 8

// Sample is one number of a data point.
type Sample struct {
	Key   string // path into a map, joined by metric.KeySeparator; "" for a plain number
	Shape metric.Shape
	Value float64 // may be NaN or infinite; package ingest rejects those
}

// flattened holds the numbers in a value, and counts its parts that are not numbers. It follows the plugin's Flattener:
// a number is one sample, and a map gives one sample for each number in it, down to maxDepth. Nulls are skipped, and
// anything else is counted as unsupported. The two implementations must agree, or a replay would show different series
// than the plugin.
type flattened struct {
	samples     []Sample
	unsupported int
}

func flatten(value any) flattened {
	var f flattened
	switch v := value.(type) {
	case map[string]any:
		f.walk("", v, 1)
	default:
		f.leaf("", metric.ShapeNumber, v)
	}
	return f
}

// walk flattens a map in the order of its keys, so that the same capture always gives the same samples.
func (f *flattened) walk(path string, of map[string]any, depth int) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		at := key
		if depth > 1 {
			at = path + metric.KeySeparator + key
		}
		if inner, ok := of[key].(map[string]any); ok && depth < maxDepth {
			f.walk(at, inner, depth+1)
			continue
		}
		f.leaf(at, metric.ShapeMap, of[key])
	}
}

// leaf adds a value that is not a map. A map that is too deep to be followed counts as unsupported.
func (f *flattened) leaf(key string, shape metric.Shape, value any) {
	if value == nil {
		return
	}
	number, ok := numberOf(value)
	if !ok {
		f.unsupported++
		return
	}
	f.samples = append(f.samples, Sample{Key: key, Shape: shape, Value: number})
}

// numberOf converts a number to a double, as Java's Number.doubleValue does: a number that is too large becomes
// infinite. Package ingest then rejects and counts it, as it does for a live worker. The result is false if the value
// is not a number.
func numberOf(value any) (float64, bool) {
	switch v := value.(type) {
	case json.Number:
		number, _ := strconv.ParseFloat(v.String(), 64) // the decoder checked the syntax; out of range it is infinite
		return number, true
	case string:
		if word, found := strings.CutPrefix(v, nonFinitePrefix); found {
			number, err := strconv.ParseFloat(word, 64)
			return number, err == nil
		}
	}
	return 0, false
}
