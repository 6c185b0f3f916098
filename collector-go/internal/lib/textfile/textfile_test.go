package textfile

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func utf16Text(text string, order ...int) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		both := []byte{byte(unit), byte(unit >> 8)}
		b.WriteByte(both[order[0]])
		b.WriteByte(both[order[1]])
	}
	return b.String()
}

func TestFormsOfText(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	for given, want := range map[string]string{
		"a: 1\nb: 2\n":                   "a: 1\nb: 2\n",
		"\ufeffa: 1\r\nb: 2\r\n":         "a: 1\nb: 2\n",
		"a\rb\r\nc":                      "a\nb\nc",
		"":                               "",
		"\ufeff":                         "",
		"a \ufeff inside stays":          "a \ufeff inside stays",
		utf16Text("\ufeffa: 1", 0, 1):    "!a.txt is UTF-16; save it in UTF-8, or convert it: iconv -f UTF-16 -t UTF-8",
		utf16Text("\ufeffa: 1", 1, 0):    "!a.txt is UTF-16; save",
		utf16Text("a: 1", 0, 1):          "!a.txt is UTF-16 without a byte order mark; save it in UTF-8, or convert it: iconv -f UTF-16LE",
		utf16Text("a: 1", 1, 0):          "!a.txt is UTF-16 without a byte order mark; save it in UTF-8, or convert it: iconv -f UTF-16BE",
		"\xff\xfe\x00\x00a\x00\x00\x00":  "!a.txt is UTF-32; save",
		"a\nb\x00":                       "!a.txt:2: contains a zero byte",
		"a\nb\ngr\xf6\xdfe":              "!a.txt:3: not UTF-8 text; save the file in UTF-8",
		"gr\xf6\xdfe\n-----BEGIN X-----": "gr\xf6\xdfe\n-----BEGIN X-----",
		strings.Repeat("x", 101):         "!a.txt: larger than 100 bytes",
	} {
		require.NoError(t, os.WriteFile(path, []byte(given), 0o600))
		text, err := Read(path, 100)
		if problem, is := strings.CutPrefix(want, "!"); is {
			assert.ErrorContains(t, err, problem, "%q", given)
			continue
		}
		require.NoError(t, err, "%q", given)
		assert.Equal(t, want, string(text))
	}
	for path, want := range map[string]string{dir: "is a directory; name a file in it", "": "the path is empty",
		filepath.Join(dir, "none"): "no such file", "a\x00b": `"a\x00b"`} {
		_, err := Read(path, 100)
		require.ErrorContains(t, err, want)
		_, err = Open(path)
		require.ErrorContains(t, err, want)
	}
}

func TestALargeFileIsReadInTheSameForms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	for given, want := range map[string]string{
		"\ufeff{}\n{}\n": "{}\n{}\n", "": "", "{}": "{}", "\ufeff": "",
		utf16Text("\ufeff{}", 0, 1): "!is UTF-16", utf16Text("{}{}", 0, 1): "!is UTF-16",
		"\x1f\x8b\x08\x00": "!not a text file",
	} {
		require.NoError(t, os.WriteFile(path, []byte(given), 0o600))
		f, err := Open(path)
		if problem, is := strings.CutPrefix(want, "!"); is {
			assert.ErrorContains(t, err, problem, "%q", given)
			continue
		}
		require.NoError(t, err)
		text, err := io.ReadAll(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		assert.Equal(t, want, string(text))
	}
}

func TestFaultsOfJSONAreInPlainWords(t *testing.T) {
	for text, want := range map[string]string{
		`[1]`: "expected a JSON object, found array", `{"a": {"b": 1.5}}`: `the field "a.b" must not be a JSON number 1.5`,
		`{"a": x}`: "not JSON: invalid character 'x'", `{"a": `: "the JSON is incomplete", ``: "the JSON is incomplete",
	} {
		var into struct {
			A struct {
				B int `json:"b"`
			} `json:"a"`
		}
		err := JSONFault(json.NewDecoder(strings.NewReader(text)).Decode(&into))
		assert.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "Go ")
	}
}
