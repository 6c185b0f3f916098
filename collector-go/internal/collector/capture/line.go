package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// line is one line of a capture: a data point or an event. Storm gives the time and the interval in seconds, and the
// consumer adds its own clock in ms.
type line struct {
	Event      string `json:"event"`
	TopologyID string `json:"stormId"`
	WorkerPort uint32 `json:"workerPort"`
	Storm      string `json:"stormVersion"`

	NowMs     int64  `json:"now"`
	Time      *int64 `json:"ts"`       // s
	Interval  int64  `json:"interval"` // s
	Host      string `json:"host"`
	Port      uint32 `json:"port"`
	Component string `json:"component"`
	Task      int32  `json:"task"`
	Name      string `json:"name"`
	Value     any    `json:"value"`
}

// These bounds apply to the values of a line. A time beyond the year 33658 is in ms by mistake, and no consumer reports
// less often than once a day.
const (
	maxTimeSeconds     = 1_000_000_000_000
	maxIntervalSeconds = 86_400
)

// parse reads one line. JSON cannot express NaN and infinities, so captures may have them as the bare words that Java
// and Python write. The line is first parsed as plain JSON, because such words are rare and the search for them costs
// time.
func parse(text []byte) (*line, error) {
	l, err := decode(text)
	if err != nil {
		var again error
		if l, again = decode(quoteNonFinite(text)); again != nil {
			return nil, fmt.Errorf("is not a JSON object of a capture: %w", textfile.JSONFault(err))
		}
	}
	if l.Event != "" {
		return l, nil
	}
	return l, l.check()
}

// decode reads one JSON object, and refuses anything after it. Numbers stay text, so that none is rounded before
// flatten converts it.
func decode(text []byte) (*line, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	l := &line{}
	if err := decoder.Decode(l); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has data after the object")
	}
	return l, nil
}

// check returns an error that says why a line is not a valid data point.
func (l *line) check() error {
	switch {
	case l.Name == "":
		return errors.New(`has neither "event" nor "name"`)
	case l.Time == nil:
		return errors.New(`has no "ts", the time in seconds at which Storm read the metric`)
	case *l.Time < -maxTimeSeconds || *l.Time > maxTimeSeconds:
		return fmt.Errorf(`"ts" is %d, which is not a time in seconds`, *l.Time)
	case l.NowMs < 0 || l.NowMs > 1000*maxTimeSeconds:
		return fmt.Errorf(`"now" is %d, which is not a time in ms`, l.NowMs)
	case l.Interval < 0 || l.Interval > maxIntervalSeconds:
		return fmt.Errorf(`"interval" is %d, which is not an interval in seconds`, l.Interval)
	}
	return nil
}

// nonFinite are the words for NaN and infinities that may stand in place of a JSON number.
var nonFinite = []string{"NaN", "-Infinity", "Infinity"}

// nonFinitePrefix marks the strings that quoteNonFinite makes, which distinguishes them from strings of the capture.
const nonFinitePrefix = "\x00number "

// quoteNonFinite turns bare words for NaN and infinities into strings that begin with nonFinitePrefix, so that the JSON
// decoder accepts them.
func quoteNonFinite(text []byte) []byte {
	var out bytes.Buffer
	inString := false
	for i := 0; i < len(text); i++ {
		switch {
		case inString && text[i] == '\\' && i+1 < len(text):
			out.WriteByte(text[i])
			i++
		case text[i] == '"':
			inString = !inString
		case !inString:
			if word := wordAt(text[i:]); word != "" {
				fmt.Fprintf(&out, `"\u0000%s"`, strings.TrimPrefix(nonFinitePrefix, "\x00")+word)
				i += len(word) - 1
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.Bytes()
}

// wordAt returns the word of nonFinite with which a text begins, or "".
func wordAt(text []byte) string {
	for _, word := range nonFinite {
		if bytes.HasPrefix(text, []byte(word)) {
			return word
		}
	}
	return ""
}
