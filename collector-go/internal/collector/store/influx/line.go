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

// series holds the beginnings of a series' lines: measurement and tags, escaped once. A series of numbers has only key.
// A series of distributions has the others, one line for each bucket.
type series struct {
	key     []byte
	count   []byte // of a distribution, like the fields below
	sum     []byte
	buckets [][]byte
}

// newSeries returns the beginnings of a series' lines, or an error if line protocol cannot represent its labels.
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
	// A measurement needs escapes for commas and spaces, and a tag also for the equals sign.
	measurements = strings.NewReplacer(",", `\,`, " ", `\ `)
	tags         = strings.NewReplacer(",", `\,`, "=", `\=`, " ", `\ `)
)

// errText says why a series is rejected as forward.Invalid.
var errText = errors.New("line protocol cannot represent this text")

// tagText returns ",name=value" for each label except the metric name. The tags are sorted by name, as InfluxDB
// recommends.
func tagText(l labels.Labels) (_ string, err error) {
	var text strings.Builder
	l.Range(func(label labels.Label) {
		switch {
		case !writable(label.Name) || !writable(label.Value):
			err = errText
		case label.Name == model.MetricNameLabel:
			if strings.HasPrefix(label.Value, "#") {
				err = errText // it would begin a comment
			}
		case label.Name == "time" || label.Name == "_field" || label.Name == "_measurement":
			err = errText // reserved by InfluxDB
		default:
			text.WriteString("," + tags.Replace(label.Name) + "=" + tags.Replace(label.Value))
		}
	})
	return text.String(), err
}

// writable reports whether line protocol can represent a text. It has no escape for a new line, nor for a backslash
// before a character that needs an escape.
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

// finite reports whether InfluxDB can store a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// isGap reports whether a number marks a gap.
func isGap(v float64) bool { return value.IsStaleNaN(v) }

// line appends one line with the time in ms. InfluxDB has no number for a gap, so a gap is written as the field "gap"
// in place of "value".
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

// histogram appends the lines of a histogram: count, sum and buckets, like those of Prometheus' classic histograms. A
// gap is written to all of them.
func (p *Protocol) histogram(to []byte, s *series, h *histogram.Histogram, endMs int64) []byte {
	count, sum, buckets := forward.Classic(p.counts[:0], h)
	p.counts = buckets
	to = line(line(to, s.count, count, endMs), s.sum, sum, endMs)
	for i, key := range s.buckets {
		to = line(to, key, buckets[i], endMs)
	}
	return to
}
