package yamlfile

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// SecondDocument is the error for a file with a second, non-empty YAML document. Line is where it begins. The
// libraries that read rules and http_config files silently ignore all documents except the first, so that the others
// would have no effect.
type SecondDocument struct{ Line int }

func (SecondDocument) Error() string {
	return "more than one YAML document; put the second one into its own file, or remove the line \"---\" before it"
}

// OneDocument returns a SecondDocument if a text has more than one document. It ignores faults in the first document,
// because the reader of the file reports them.
func OneDocument(text []byte) error {
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for first := true; ; first = false {
		var node yaml.Node
		err := documents.Decode(&node)
		switch {
		case errors.Is(err, io.EOF), err != nil && first:
			return nil
		case err != nil:
			return SecondDocument{separator(text)}
		case !first && len(node.Content) > 0 && node.Content[0].Tag != "!!null":
			return SecondDocument{node.Content[0].Line}
		}
	}
}

// separator returns the line after the last "---" that is not in the first line. It is used because the parser does
// not say where an unreadable document begins.
func separator(text []byte) int {
	last := bytes.LastIndex(text, []byte("\n---"))
	return 2 + bytes.Count(text[:max(last, 0)], []byte("\n"))
}
