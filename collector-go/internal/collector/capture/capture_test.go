package capture

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// said formats a flattened value: "a/b=1 (map)", numbers in order, and "+n" for n values that are not numbers.
func said(p *Point) string {
	var parts []string
	for _, s := range p.Samples {
		shape := map[metric.Shape]string{metric.ShapeNumber: "number", metric.ShapeMap: "map"}[s.Shape]
		parts = append(parts, fmt.Sprintf("%s=%v (%s)", strings.ReplaceAll(s.Key, metric.KeySeparator, "/"),
			s.Value, shape))
	}
	if p.Unsupported > 0 {
		parts = append(parts, fmt.Sprintf("+%d", p.Unsupported))
	}
	return strings.Join(parts, ", ")
}

// The cases are the same as in the plugin's FlattenerTest.
func TestFlattening(t *testing.T) {
	tests := []struct{ value, want string }{
		{`1.5`, "=1.5 (number)"},
		{`12345678901234567890`, "=1.2345678901234567e+19 (number)"},
		{`-0.0`, "=-0 (number)"},
		{`null`, ""},
		{`"[B@4cf456fd"`, "+1"},
		{`true`, "+1"},
		{`[1, 2]`, "+1"},
		{`{}`, ""},
		{`{"b": 2, "a": 1}`, "a=1 (map), b=2 (map)"},
		{`{"dequeued": 0, "enqueued": {"/127.0.0.1:36118": 1366}, "dest": "h", "none": null}`,
			"dequeued=0 (map), enqueued//127.0.0.1:36118=1366 (map), +1"},
		{`{"": {"": 1}}`, "/=1 (map)"},
		{`{"1":{"2":{"3":{"4":{"5":{"6":{"7":{"8":9}}}}}}}}`, "1/2/3/4/5/6/7/8=9 (map)"},
		{`{"1":{"2":{"3":{"4":{"5":{"6":{"7":{"8":{"9":1}}}}}}}}}`, "+1"},
		{`NaN`, "=NaN (number)"},
		{`{"a": -Infinity, "b": 1e999, "NaN": "NaN", "c": "Infinity \" NaN"}`, "a=-Inf (map), b=+Inf (map), +2"},
	}
	for _, test := range tests {
		r := NewReader("x", strings.NewReader(`{"ts":1,"name":"n","value":`+test.value+`}`))
		p, err := r.Next()
		require.NoError(t, err, test.value)
		assert.Equal(t, test.want, said(p), test.value)
	}
}

func TestAPointIsWhatStormSaid(t *testing.T) {
	r := NewReader("x", strings.NewReader(`{"event":"prepare","stormId":"bullet-1-1795199744","workerPort":1027,"task":15}

{"now":1795199757438,"ts":1795199757,"interval":10,"host":"h","port":1027,"component":"FilterBolt","task":3,"name":"n","class":"java.lang.Double","value":2}
{"event":"cleanup"}
`))
	p, err := r.Next()
	require.NoError(t, err)
	assert.Equal(t, &Point{Prepare: &Prepare{TopologyID: "bullet-1-1795199744", Port: 1027, Task: 15},
		NowMs: 1795199757438, TimeMs: 1795199757000,
		IntervalMs: 10_000, Host: "h", Port: 1027, Component: "FilterBolt", Task: 3, Name: "n",
		Samples: []Sample{{Shape: metric.ShapeNumber, Value: 2}}}, p)
	_, err = r.Next()
	assert.ErrorIs(t, err, io.EOF)
}

func TestTopologyOfAnID(t *testing.T) {
	for id, want := range map[string]string{
		"bullet-1-1795199744":      "bullet",
		"my-topology-12-179519974": "my-topology",
		"bullet":                   "bullet",
		"bullet-x-1":               "bullet-x-1",
		"bullet-1-":                "bullet-1-",
		"-1-2":                     "-1-2",
	} {
		assert.Equal(t, want, Prepare{TopologyID: id}.Topology(), id)
	}
}

// A malformed line is named, and the lines after it are read.
func TestMalformedLines(t *testing.T) {
	const good = `{"ts":1,"name":"n","value":1}`
	for bad, want := range map[string]string{
		`x`:                                 `the line is not a JSON object of a capture`,
		`[1]`:                               `the line is not a JSON object of a capture`,
		`{"ts":1,"name":"n","value":1`:      `the line is not a JSON object of a capture`,
		good + good:                         `has data after the object`,
		`{"a":1}`:                           `the line has neither "event" nor "name"`,
		`{"name":"n","value":1}`:            `the line has no "ts"`,
		`{"ts":1.5,"name":"n"}`:             `ts`,
		`{"ts":9e18,"name":"n"}`:            `ts`,
		`{"ts":2000000000000,"name":"n"}`:   `"ts" is 2000000000000, which is not a time in seconds`,
		`{"ts":1,"name":"n","interval":-1}`: `"interval" is -1`,
		`{"ts":1,"name":"n","now":-1}`:      `"now" is -1`,
		`{"ts":1,"name":"n","port":-1}`:     `port`,
	} {
		r := NewReader("c.jsonl", strings.NewReader(good+"\n"+bad+"\n"+good))
		_, err := r.Next()
		require.NoError(t, err, bad)
		_, err = r.Next()
		var malformed *LineError
		if assert.True(t, errors.As(err, &malformed), "%s: %v", bad, err) {
			assert.Contains(t, err.Error(), "c.jsonl:2: ")
			assert.Contains(t, err.Error(), want)
		}
		p, err := r.Next()
		require.NoError(t, err, bad)
		assert.Len(t, p.Samples, 1)
	}
}

func TestALineIsBounded(t *testing.T) {
	r := NewReader("c.jsonl",
		io.MultiReader(strings.NewReader("{}\n"), strings.NewReader(strings.Repeat(" ", MaxLineBytes+1))))
	_, err := r.Next()
	assert.ErrorContains(t, err, "c.jsonl:1")
	_, err = r.Next()
	assert.ErrorContains(t, err, "c.jsonl:2: the line is longer")
}

func FuzzReader(f *testing.F) {
	f.Add(`{"event":"prepare","stormId":"b-1-2"}`)
	f.Add(`{"now":1,"ts":1,"name":"n","value":{"a":NaN,"b":{"c":-1}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r := NewReader("x", strings.NewReader(text))
		for {
			_, err := r.Next()
			var malformed *LineError
			if err != nil && !errors.As(err, &malformed) {
				return
			}
		}
	})
}
