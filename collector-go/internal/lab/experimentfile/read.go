package experimentfile

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// Parse is Read of a text that came from path.
func Parse(path string, text []byte) (*File, error) {
	document, err := yamlfile.Document(path, text)
	if err != nil {
		return nil, err
	}
	f := defaults()
	r := reader{path: path, places: places{}}
	f.path, f.places = path, r.places
	if document == nil {
		return nil, fmt.Errorf("%s: the file is empty; docs/experiments.md describes what an experiment has", path)
	}
	r.into(reflect.ValueOf(f).Elem(), "", document)
	if err := errors.Join(r.faults...); err != nil {
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
		if _, given := f.places["records."+own.Type().Field(i).Tag.Get("yaml")]; !given {
			own.Field(i).SetZero()
		}
	}
}

// places say where in the file each field is, "line:column" by the field's path.
type places map[string]string

// near is the place of a field, or of what it would be in.
func (p places) near(field string) string {
	for {
		if place, found := p[field]; found {
			return place
		}
		end := strings.LastIndexAny(field, ".[")
		if end < 0 {
			return "1:1"
		}
		field = field[:end]
	}
}

// reader fills a File from a YAML document by reflection. It is stricter than a YAML decoder: it refuses unknown
// fields, duplicates, anchors and empty values, and it collects all faults with their positions. A misspelt field would
// otherwise be ignored silently, and hours of measuring would follow the default.
type reader struct {
	path   string
	places places
	faults []error
}

func place(node ast.Node) string {
	position := node.GetToken().Position
	return fmt.Sprintf("%d:%d", position.Line, position.Column)
}

func (r *reader) fault(node ast.Node, field, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s:%s: %s%s", r.path, place(node), lead(field),
		fmt.Sprintf(format, args...)))
}

func lead(field string) string {
	if field == "" {
		return ""
	}
	return field + ": "
}

// into reads a node into a value of the file.
func (r *reader) into(v reflect.Value, field string, node ast.Node) {
	if field != "" {
		r.places[field] = place(node)
	}
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		r.fault(node, field, "anchors, aliases and tags are not read; write the value itself")
		return
	case *ast.NullNode:
		r.fault(node, field, "there is no value; write one, or leave the field out")
		return
	}
	switch target := v.Addr().Interface().(type) {
	case scalar:
		r.scalar(field, node, target.set)
		return
	case yamlfile.Text:
		r.scalar(field, node, target.Set)
		return
	case *Settings:
		r.settings(target, field, node)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.into(v.Elem(), field, node)
	case reflect.Struct:
		r.fields(v, field, node)
	case reflect.Slice:
		r.list(v, field, node)
	default:
		r.scalar(field, node, func(text string) error { return yamlfile.Set(v, text) })
	}
}

func (r *reader) scalar(field string, node ast.Node, set func(string) error) {
	text, ok := yamlfile.Scalar(node)
	if !ok {
		r.fault(node, field, "this is one value, not a list or a mapping")
		return
	}
	if err := set(text); err != nil {
		r.fault(node, field, "%s", err)
	}
}

func (r *reader) list(v reflect.Value, field string, node ast.Node) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		r.fault(node, field, "this is a list; write [a, b] or a line \"- a\" for each")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
	for i, each := range list.Values {
		r.into(v.Index(i), fmt.Sprintf("%s[%d]", field, i), each)
	}
}

func (r *reader) fields(v reflect.Value, field string, node ast.Node) {
	entries, ok := yamlfile.Entries(node)
	if !ok {
		r.fault(node, field, "this has fields; write \"name: value\" lines: %s", strings.Join(names(v.Type()), ", "))
		return
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		name := yamlfile.Key(entry)
		within := strings.TrimPrefix(field+"."+name, ".")
		i := slices.Index(names(v.Type()), name)
		switch {
		case i < 0:
			r.fault(entry.Key, "", "unknown field %q; did you mean %q?", within,
				strings.TrimPrefix(field+"."+yamlfile.Nearest(name, names(v.Type())...), "."))
		case seen[name]:
			r.fault(entry.Key, within, "it is there twice; keep one")
		default:
			seen[name] = true
			r.into(v.Field(i), within, entry.Value)
		}
	}
}

// names are the fields of a struct as files have them, in the struct's order; those that no file has come last and are
// not there.
func names(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// settings reads settings in the order of the file. Each value is kept as the text that follows "-c name=" on Storm's
// command line, so that this program does not interpret settings that it does not know.
func (r *reader) settings(into *Settings, field string, node ast.Node) {
	entries, ok := yamlfile.Entries(node)
	if !ok {
		r.fault(node, field, "these are settings; write \"name: value\" lines")
		return
	}
	for _, entry := range entries {
		key := yamlfile.Key(entry)
		if slices.ContainsFunc(*into, func(s Setting) bool { return s.Key == key }) {
			r.fault(entry.Key, field, "%s is there twice; keep one", key)
			continue
		}
		value, err := flow(entry.Value)
		if err != nil {
			r.fault(entry.Value, field, "%s: %s", key, yamlfile.FirstLine(err))
			continue
		}
		*into = append(*into, Setting{key, value})
	}
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
