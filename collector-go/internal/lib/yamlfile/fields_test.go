package yamlfile

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type upper string

func (u *upper) Set(text string) error {
	if text == "bad" {
		return errors.New("bad is not taken")
	}
	*u = upper(text + "!")
	return nil
}

type shared struct {
	Inner string `yaml:"inner"`
}

type sample struct {
	shared
	Name  string    `yaml:"name"`
	Own   upper     `yaml:"own"`
	Count int       `yaml:"count"`
	Share *float64  `yaml:"share"`
	On    bool      `yaml:"on"`
	Rows  [][]upper `yaml:"rows"`
	Parts []shared  `yaml:"parts"`
	kept  string
}

func TestFieldsAreRead(t *testing.T) {
	var s sample
	places, err := Fields("a.yaml",
		[]byte("inner: x\nname: n\nown: o\ncount: 3\nshare: 0.5\non: true\nrows: [[1, b], []]\nparts:\n  - inner: y\n"), &s)
	require.NoError(t, err)
	half := 0.5
	assert.Equal(t, sample{shared{"x"}, "n", "o!", 3, &half, true, [][]upper{{"1!", "b!"}, {}}, []shared{{"y"}}, ""}, s)
	assert.True(t, places.Given("parts[0].inner"))
	assert.False(t, places.Given("parts[1].inner"))
	assert.EqualError(t, places.Fault("parts[0].inner", "is %s", "wrong"), "a.yaml:9:12: parts[0].inner: is wrong")
	assert.ErrorContains(t, places.Fault("parts[0].other", "is missing"), "a.yaml:9:")
	assert.ErrorContains(t, places.Fault("nothing", "is missing"), "a.yaml:1:1: nothing: ")
}

func TestEachFaultHasItsPlace(t *testing.T) {
	var s sample
	_, err := Fields("a.yaml",
		[]byte("nome: n\nown: bad\ncount: many\non: yes\nrows: 3\nparts: [x]\nshare:\nname: [a]\nkept: x\n"), &s)
	for _, want := range []string{
		`a.yaml:1:1: unknown field "nome"; did you mean "name"?`, "a.yaml:2:6: own: bad is not taken",
		`count: "many" is not a whole number`,
		`on: "yes" is not true or false`, "rows: this is a list", "parts[0]: this has fields",
		"share: there is no value", "name: this is one value", `unknown field "kept"`,
	} {
		assert.ErrorContains(t, err, want)
	}
	_, err = Fields("a.yaml", nil, &s)
	assert.ErrorContains(t, err, "empty")
	_, err = Fields("a.yaml", []byte("a: [1"), &s)
	assert.ErrorContains(t, err, "a.yaml")
}
