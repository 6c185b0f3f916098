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
type Settings []Setting

// Setting is one setting. Value is the text that follows "-c name=" on Storm's command line, as YAML on one line. This
// program need not interpret settings that it does not know.
type Setting struct{ Key, Value string }

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
		*s = append(*s, Setting{yamlfile.Key(entry), value})
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
