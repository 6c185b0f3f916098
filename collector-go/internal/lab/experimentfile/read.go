package experimentfile

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// maxFileBytes bounds an experiment's file.
const maxFileBytes = 1 << 20

// Read reads an experiment's file and checks it. All faults are reported at once, each with file, line, column and
// field.
func Read(path string) (*File, []byte, error) {
	text, err := textfile.Read(path, maxFileBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read the experiment: %w", err)
	}
	f, err := Parse(path, text)
	return f, text, err
}

// Parse is Read of a text that came from path. It reports faults of meaning (Check) only once every value could be
// read, because a value that could not be read has its default, about which a second fault would mislead.
func Parse(path string, text []byte) (_ *File, err error) {
	f := defaults()
	f.path = path
	if f.places, err = yamlfile.Fields(path, text, f); errors.Is(err, yamlfile.ErrEmpty) {
		return nil, fmt.Errorf("%w; docs/experiments.md describes what an experiment has", err)
	} else if err != nil {
		return nil, err
	}
	f.claimNoRecords()
	return f, f.Check()
}

// claimNoRecords forgets our generator's schema and size of a record where the records may not be ours: what the file
// states of them stays. They are ours where the launch is local, whose topology has our generator. What a command
// launches reads whatever data its owner has.
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

// Settings are Bullet's or Storm's, in the file's order, which is the order in which they are passed to Storm.
type Settings []Setting

// Setting is one of them. Value is the text that follows "-c name=" on Storm's command line, as YAML on one line, so
// that this program does not interpret settings that it does not know.
type Setting struct{ Key, Value string }

// SetNode reads the lines of a mapping. The YAML parser has already refused a name that is there twice.
func (s *Settings) SetNode(node ast.Node) error {
	entries, ok := yamlfile.Entries(node)
	if !ok {
		return errors.New("these are settings; write \"name: value\" lines")
	}
	for _, entry := range entries {
		value, err := flow(entry.Value)
		if err != nil {
			return fmt.Errorf("%s: %s", yamlfile.Key(entry), yamlfile.FirstLine(err))
		}
		*s = append(*s, Setting{yamlfile.Key(entry), value})
	}
	return nil
}

// flow is a value as YAML on one line.
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
