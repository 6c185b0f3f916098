package yamlfile

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestASecondDocumentIsRefusedWithItsLine(t *testing.T) {
	for text, line := range map[string]int{
		"a: 1\n": 0, "": 0, "---\na: 1\n": 0, "a: 1\n---\n": 0, "a: 1\n---\n# nothing\n...\n": 0,
		"a: |\n  x\n  ---\n  y\n": 0, "a: '---'\n": 0,
		"a: 1\n---\nb: 2\n":                3,
		"a: 1\n---\n\n# more\nb: 2\n":      5,
		"---\na: 1\n---\n---\nb: 2\n":      5,
		"# x\n---\n---\na: 1\n":            4,
		"a: 1\n...\n---\nb: 2\n":           4,
		"a: 1\n--- b\n":                    2,
		"a: 1\n---\nb: [\n":                2,
		"a: 1\nc: 3\n---\n- x\n---\n- y\n": 4,
	} {
		_, inDocument := Document("a.yaml", []byte(text))
		var into any
		inDecode := Decode([]byte(text), &into)
		if line == 0 {
			assert.NoError(t, OneDocument([]byte(text)), "%q", text)
			assert.NoError(t, inDocument, "%q", text)
			assert.NoError(t, inDecode, "%q", text)
			continue
		}
		want := SecondDocument{line}
		assert.Equal(t, want, OneDocument([]byte(text)), "%q", text)
		assert.ErrorIs(t, inDocument, want, "%q", text)
		assert.ErrorIs(t, inDecode, want, "%q", text)
	}
	assert.NoError(t, OneDocument([]byte("a: [\n")), "its reader says what is wrong")
}
