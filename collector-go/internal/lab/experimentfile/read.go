package experimentfile

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// maxFileBytes bounds the size of an experiment file.
const maxFileBytes = 1 << 20

// Read reads an experiment file and checks it; it also returns the file's text. All faults are reported at once, each
// with file, line, column and field. A file with a search section may be read, too: its plan has the one configuration
// of topology.settings, at the target of the search.
func Read(path string) (*File, []byte, error) {
	f, text, err := read(path)
	if err == nil {
		err = f.launchable()
	}
	return f, text, err
}

func read(path string) (*File, []byte, error) {
	text, err := textfile.Read(path, maxFileBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read the experiment: %w", err)
	}
	f, err := Parse(path, text)
	return f, text, err
}

// Parse is Read for a text that came from path. It calls Check only if every value could be parsed. A value that could
// not be parsed has its default, and a second fault about the default would mislead.
func Parse(path string, text []byte) (_ *File, err error) {
	f := defaults()
	f.path = path
	f.places, err = yamlfile.Fields(path, text, f)
	switch {
	case errors.Is(err, yamlfile.ErrEmpty):
		return nil, fmt.Errorf("%w; see docs/experiments.md for the fields of an experiment", err)
	case err != nil:
		return nil, err
	}
	f.claimNoRecords()
	f.aim()
	return f, f.Check()
}

// claimNoRecords removes the defaults of Records, unless the launch is local and uses our generator, which they
// describe. A topology that a command launches reads whatever data its owner has. Values that the file states are
// kept.
func (f *File) claimNoRecords() {
	if f.Launch.Local != nil && !f.noSource() {
		return
	}
	own := reflect.ValueOf(&f.Records).Elem()
	for i := range own.NumField() {
		if !f.places.Given("records." + own.Type().Field(i).Tag.Get("yaml")) {
			own.Field(i).SetZero()
		}
	}
}

// Settings are settings of Bullet or Storm, in the order in which they are passed to Storm, which is that of the file.
// A value is the text that follows "-c name=" on Storm's command line, as YAML on one line. This program need not
// interpret settings that it does not know.
type Settings []runstore.Entry

// SetNode reads the lines of a mapping. The YAML parser has already refused repeated names.
func (s *Settings) SetNode(node ast.Node) error {
	entries, ok := yamlfile.Entries(node)
	if !ok {
		return errors.New("not a mapping; write each setting as NAME: VALUE")
	}
	for _, entry := range entries {
		value, err := flow(entry.Value)
		if err != nil {
			return fmt.Errorf("%s: %s", yamlfile.Key(entry), yamlfile.FirstLine(err))
		}
		*s = append(*s, runstore.Entry{Key: yamlfile.Key(entry), Value: value})
	}
	return nil
}

// flow formats a value as YAML on one line.
func flow(node ast.Node) (string, error) {
	switch node.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.GetToken().Value, nil
	case *ast.NullNode:
		return "null", nil
	}
	var value any
	if err := yaml.NodeToValue(node, &value); err != nil {
		return "", err
	}
	text, err := yaml.MarshalWithOptions(value, yaml.Flow(true))
	return strings.TrimSpace(string(text)), err
}

// Text forms that experiment files share with other files.
type (
	Duration = yamlfile.Duration
	Ratio    = yamlfile.Ratio
)

// Bytes is a size such as 384MiB or 1.8KiB. Units are powers of 1024.
type Bytes int64

var sizes = []struct {
	unit  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

// Set parses a size with its unit. A bare number is refused, because its unit would be a guess.
func (b *Bytes) Set(text string) error {
	for _, size := range sizes {
		number, found := strings.CutSuffix(text, size.unit)
		if !found {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(value >= 0) || math.IsInf(value, 0) {
			break
		}
		*b = Bytes(math.Round(value * size.bytes))
		return nil
	}
	return fmt.Errorf("%q is not a size; write a number with a unit, for example 384MiB or 1.8KiB", text)
}

// MiB returns the size in whole MiB, rounded down.
func (b Bytes) MiB() int { return int(b >> 20) }

// Rate is a number of records/s, or the word calibrated. Calibrated means that the run finds the rate that leaves a
// share of the host idle.
type Rate struct {
	Calibrated bool
	PerSecond  float64
}

// Set parses a positive rate or the word calibrated.
func (r *Rate) Set(text string) error {
	if text == calibrated {
		*r = Rate{Calibrated: true}
		return nil
	}
	value, err := yamlfile.Number(text)
	if err != nil || !(value > 0) {
		return fmt.Errorf("%q is not a number of records per second above 0; write a number or %s", text, calibrated)
	}
	*r = Rate{PerSecond: value}
	return nil
}

// Number is a number that may be left out. Given distinguishes 0 from an omitted number.
type Number struct {
	Value float64
	Given bool
}

// Set parses a finite number and notes that it was given.
func (n *Number) Set(text string) (err error) {
	n.Value, err = yamlfile.Number(text)
	n.Given = err == nil
	return err
}

// figure returns the number, or Unknown if it was left out.
func (n Number) figure() tuning.Figure {
	if !n.Given {
		return tuning.Unknown
	}
	return tuning.Figure(n.Value)
}

// Limit is a goal's limit: a number in the unit in which goals are judged, which is ms for a time and a ratio for a
// share. Whether the unit fits the goal's figure is checked later, because the figure may come later in the file.
type Limit struct {
	Number
	isTime bool
}

// Set parses a time, a share in percent, or a number.
func (l *Limit) Set(text string) (err error) {
	var share Ratio
	var d time.Duration
	switch n, notNumber := yamlfile.Number(text); {
	case strings.HasSuffix(text, "%"):
		err = share.Set(text)
		l.Value = float64(share)
	case notNumber == nil:
		l.Value = n
	default:
		if d, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("%q is not a limit; write a time such as 200ms, a share such as 99%%, or a number", text)
		}
		l.Value, l.isTime = float64(d)/float64(time.Millisecond), true
	}
	l.Given = err == nil
	return err
}
