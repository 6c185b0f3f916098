package stormconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// lineWidth is the maximum width of a printed comment.
const lineWidth = 110

// entry is a map that keeps its order in YAML and JSON.
type entry []pair

// MarshalJSON implements json.Marshaler.
func (e entry) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, p := range e {
		name, err := json.Marshal(p.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.value)
		if err != nil {
			return nil, err
		}
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// YAML returns the settings as text to paste. Everything that is not a setting is a comment.
func (s SettingsFile) YAML() string {
	var b strings.Builder
	what := "Storm " + s.Storm
	if s.Bullet != "" {
		what = "Bullet " + s.Bullet + " on " + what
	}
	comment(&b, "Bullet Metrics for "+what+". Add these lines to "+s.File+".")
	for _, line := range s.Lines {
		b.WriteByte('\n')
		comment(&b, line.Why)
		write(&b, "", line.Setting, line.Value)
	}
	if len(s.Automatic) > 0 {
		b.WriteByte('\n')
		comment(&b, "register() makes these settings itself. Do not add them:")
		for _, line := range s.Automatic {
			var text strings.Builder
			write(&text, "", line.Setting, line.Value)
			for row := range strings.Lines(text.String()) {
				b.WriteString("#   " + row)
			}
		}
	}
	b.WriteByte('\n')
	for _, note := range s.Notes {
		comment(&b, note)
	}
	return b.String()
}

// comment prints text as comment lines of at most lineWidth characters.
func comment(b *strings.Builder, text string) {
	row := "#"
	for word := range strings.FieldsSeq(text) {
		if len(row)+1+len(word) > lineWidth && row != "#" {
			b.WriteString(row + "\n")
			row = "#"
		}
		row += " " + word
	}
	b.WriteString(row + "\n")
}

// write prints one setting. It supports only the types of values that For makes.
func write(b *strings.Builder, indent, name string, value any) {
	switch v := value.(type) {
	case []string:
		fmt.Fprintf(b, "%s%s:\n", indent, name)
		for _, text := range v {
			fmt.Fprintf(b, "%s  - %q\n", indent, text)
		}
	case []any:
		fmt.Fprintf(b, "%s%s:\n", indent, name)
		for _, each := range v {
			var inner strings.Builder
			writeEntry(&inner, indent+"    ", each.(entry))
			b.WriteString(indent + "  - " + strings.TrimPrefix(inner.String(), indent+"    "))
		}
	case map[string]any:
		fmt.Fprintf(b, "%s%s:\n", indent, name)
		for key, each := range v { // has one key
			write(b, indent+"  ", key, each)
		}
	case entry:
		fmt.Fprintf(b, "%s%s:\n", indent, name)
		writeEntry(b, indent+"  ", v)
	case string:
		fmt.Fprintf(b, "%s%s: %q\n", indent, name, v)
	default:
		fmt.Fprintf(b, "%s%s: %v\n", indent, name, v)
	}
}

func writeEntry(b *strings.Builder, indent string, e entry) {
	for _, p := range e {
		write(b, indent, p.name, p.value)
	}
}
