package yamlfile

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Text is a value with its own text form, such as a duration.
type Text interface{ Set(text string) error }

// Node is a value that reads its part of the document itself, such as settings with arbitrary names. Its error is
// reported at the node's position.
type Node interface{ SetNode(node ast.Node) error }

// ErrEmpty means that a file has no document.
var ErrEmpty = errors.New("the file is empty")

// Places has the position of each field in a file.
type Places struct {
	path string
	at   map[string]string // "line:column" by the field's path
}

// Fields reads a text, which came from path, into a struct according to the yaml tags of its fields. The fields of an
// embedded struct are treated as its own. Supported types are Text, strings, integers, finite numbers, booleans,
// structs, and pointers to and lists of these. The error lists all faults, each with file, line, column and field. For
// an unknown field it suggests the nearest name.
func Fields(path string, text []byte, into any) (*Places, error) {
	document, err := Document(path, text)
	if err != nil {
		return nil, err
	}
	if document == nil {
		return nil, fmt.Errorf("%s: %w", path, ErrEmpty)
	}
	r := fields{places: &Places{path, map[string]string{}}}
	r.into(reflect.ValueOf(into).Elem(), "", document)
	return r.places, errors.Join(r.faults...)
}

// Given reports whether the file contains a field, such as "goals[0].figure".
func (p *Places) Given(field string) bool {
	_, found := p.at[field]
	return found
}

// Fault returns an error at a field's position. If the file does not contain the field, it is the position of the
// nearest enclosing one.
func (p *Places) Fault(field, format string, args ...any) error {
	place := "1:1"
	for near := field; near != ""; {
		if at, found := p.at[near]; found {
			place = at
			break
		}
		near = near[:max(strings.LastIndexAny(near, ".["), 0)]
	}
	return fmt.Errorf("%s:%s: %s: %s", p.path, place, field, fmt.Sprintf(format, args...))
}

// fields fills a struct by reflection. It is stricter than a YAML decoder: it refuses unknown fields, anchors and
// empty values. It continues after a fault, so that one attempt reports all faults. If a misspelt field were ignored,
// an experiment could run for hours with a default.
type fields struct {
	places *Places
	faults []error
}

func (r *fields) fault(node ast.Node, field, format string, args ...any) {
	if field != "" {
		field += ": "
	}
	position := node.GetToken().Position
	r.faults = append(r.faults, fmt.Errorf("%s:%d:%d: %s%s", r.places.path, position.Line, position.Column, field,
		fmt.Sprintf(format, args...)))
}

func (r *fields) into(v reflect.Value, field string, node ast.Node) {
	if field != "" {
		position := node.GetToken().Position
		r.places.at[field] = fmt.Sprintf("%d:%d", position.Line, position.Column)
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
	case Text:
		r.scalar(field, node, target.Set)
		return
	case Node:
		if err := target.SetNode(node); err != nil {
			r.fault(node, field, "%s", err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.into(v.Elem(), field, node)
	case reflect.Struct:
		r.mapping(v, field, node)
	case reflect.Slice:
		list, is := node.(*ast.SequenceNode)
		if !is {
			r.fault(node, field, `this is a list; write [a, b] or a line "- a" for each`)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
		for i, each := range list.Values {
			r.into(v.Index(i), fmt.Sprintf("%s[%d]", field, i), each)
		}
	default:
		r.scalar(field, node, func(text string) error { return Set(v, text) })
	}
}

func (r *fields) scalar(field string, node ast.Node, set func(string) error) {
	text, ok := Scalar(node)
	if !ok {
		r.fault(node, field, "this is one value, not a list or a mapping")
		return
	}
	if err := set(text); err != nil {
		r.fault(node, field, "%s", err)
	}
}

func (r *fields) mapping(v reflect.Value, field string, node ast.Node) {
	known := map[string]reflect.Value{}
	names := named(v, known)
	entries, ok := Entries(node)
	if !ok {
		r.fault(node, field, `this has fields; write "name: value" lines: %s`, strings.Join(names, ", "))
		return
	}
	for _, entry := range entries {
		name := Key(entry)
		within := strings.TrimPrefix(field+"."+name, ".")
		if target, found := known[name]; found { // at most once, because the parser refuses duplicate names
			r.into(target, within, entry.Value)
		} else {
			r.fault(entry.Key, "", "unknown field %q; did you mean %q?", within,
				strings.TrimPrefix(field+"."+Nearest(name, names...), "."))
		}
	}
}

// named stores a struct's fields by their names in files, and returns the names in the struct's order.
func named(v reflect.Value, into map[string]reflect.Value) (names []string) {
	for i := range v.NumField() {
		about := v.Type().Field(i)
		if about.Anonymous {
			names = append(names, named(v.Field(i), into)...)
		} else if name := about.Tag.Get("yaml"); name != "" {
			into[name] = v.Field(i)
			names = append(names, name)
		}
	}
	return names
}

// Set sets a string, an integer, a finite number or a boolean from its text. It returns an error if the text is
// invalid. It panics if v is of another kind.
func Set(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		n, err := Number(text)
		if err != nil {
			return err
		}
		v.SetFloat(n)
	case reflect.Bool:
		if !slices.Contains([]string{"true", "false"}, text) {
			return fmt.Errorf("%q is not true or false", text)
		}
		v.SetBool(text == "true")
	default:
		panic("yamlfile: a field of a kind that is not read: " + v.Type().String())
	}
	return nil
}

// Duration is a non-negative duration, written as 30s or 5m.
type Duration time.Duration

// Set parses a duration. A number without a unit is refused, because the unit would be a guess.
func (d *Duration) Set(text string) error {
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is not a duration; use for example 30s or 5m", text)
	}
	*d = Duration(parsed)
	return nil
}

// Ratio is a share from 0 to 1, written as 40% or 0.4.
type Ratio float64

// Set parses a share or a percentage. A value above 1 is refused, because it is most likely a percentage without its
// sign.
func (r *Ratio) Set(text string) error {
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if percent {
		value /= 100
	}
	if err != nil || !(value >= 0 && value <= 1) {
		return fmt.Errorf("%q is not a ratio; use for example 40%% or 0.4", text)
	}
	*r = Ratio(value)
	return nil
}

// Number parses a finite number.
func Number(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return n, nil
}
