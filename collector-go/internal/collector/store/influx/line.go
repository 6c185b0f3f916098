package influx

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
)

// series is what comes before the fields of a series' lines: measurement and tags, escaped once. A number has key; a
// distribution has the others, a line for each bucket.
type series struct {
	key     []byte
	count   []byte // of a distribution, as all below
	sum     []byte
	buckets [][]byte
}

// newSeries writes the beginnings of a series' lines. The error is about labels that line protocol cannot carry.
func newSeries(l labels.Labels, distribution bool) (series, error) {
	name := l.Get(model.MetricNameLabel)
	tags, err := tagText(l)
	if err != nil {
		return series{}, err
	}
	key := func(suffix, tag string) []byte {
		return []byte(measurements.Replace(name+suffix) + tags + tag)
	}
	if !distribution {
		return series{key: key("", "")}, nil
	}
	s := series{count: key(forward.CountSuffix, ""), sum: key(forward.SumSuffix, "")}
	for _, bound := range forward.BucketBoundTexts {
		s.buckets = append(s.buckets, key(forward.BucketSuffix, ","+forward.BucketLabel+"="+bound))
	}
	return s, nil
}

var (
	// Commas and spaces are escaped in a measurement; in a tag also the equals sign.
	measurements = strings.NewReplacer(",", `\,`, " ", `\ `)
	tags         = strings.NewReplacer(",", `\,`, "=", `\=`, " ", `\ `)
)

// errText is why a series is rejected as forward.Invalid.
var errText = errors.New("line protocol has no way to write this text")

// tagText is ",name=value" for each label but the name, in the labels' order, which is the one that InfluxDB likes
// best.
func tagText(l labels.Labels) (string, error) {
	var text strings.Builder
	var err error
	l.Range(func(label labels.Label) {
		switch {
		case !writable(label.Name) || !writable(label.Value):
			err = errText
		case label.Name == model.MetricNameLabel:
			if strings.HasPrefix(label.Value, "#") {
				err = errText // a comment
			}
		case label.Name == "time" || label.Name == "_field" || label.Name == "_measurement":
			err = errText // InfluxDB's own
		default:
			text.WriteString("," + tags.Replace(label.Name) + "=" + tags.Replace(label.Value))
		}
	})
	return text.String(), err
}

// writable reports whether line protocol can carry a text: it has no escape for a new line, nor for a backslash before
// what is escaped.
func writable(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < ' ' {
			return false
		}
		if text[i] == '\\' && (i+1 == len(text) || strings.IndexByte(`, =\`, text[i+1]) >= 0) {
			return false
		}
	}
	return text != ""
}

// finite reports whether InfluxDB can hold a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// isGap reports whether a number is a gap's marker.
func isGap(v float64) bool { return value.IsStaleNaN(v) }

// line appends one line, with the time in ms. A gap's marker, for which InfluxDB has no number, is the field "gap" in
// place of "value".
func line(to, key []byte, v float64, endMs int64) []byte {
	to = append(to, key...)
	if isGap(v) {
		to = append(to, " gap=true "...)
	} else {
		to = append(to, " value="...)
		to = strconv.AppendFloat(to, v, 'g', -1, 64)
		to = append(to, ' ')
	}
	to = strconv.AppendInt(to, endMs, 10)
	return append(to, '\n')
}

// histogram appends the lines of a histogram: count, sum and buckets, as Prometheus' classic histograms have them. A
// gap's marker goes to all of them.
func (p *Protocol) histogram(to []byte, s *series, h *histogram.Histogram, endMs int64) []byte {
	count, sum, buckets := forward.Classic(p.counts[:0], h)
	p.counts = buckets
	to = line(line(to, s.count, count, endMs), s.sum, sum, endMs)
	for i, key := range s.buckets {
		to = line(to, key, buckets[i], endMs)
	}
	return to
}
