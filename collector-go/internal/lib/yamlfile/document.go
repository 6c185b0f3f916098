package yamlfile

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// SecondDocument is the line at which a second YAML document begins that is not empty. The libraries that read rules
// and http_config files take the first document and drop the others without a word, so that what stands there has no
// effect.
type SecondDocument struct{ Line int }

func (SecondDocument) Error() string {
	return "more than one YAML document; write the second one into a file of its own, or remove the line \"---\" before it"
}

// OneDocument returns a SecondDocument where a text has more than one document. What is wrong with the first one is
// left to who reads it.
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

// separator is the line of the last "---" that follows other lines: the parser does not say where a document begins
// that it cannot read.
func separator(text []byte) int {
	last := bytes.LastIndex(text, []byte("\n---"))
	return 2 + bytes.Count(text[:max(last, 0)], []byte("\n"))
}
