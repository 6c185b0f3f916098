package metric

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawRaw(t *rapid.T) Raw {
	text := rapid.SampledFrom([]string{"", "a", "__system", "GC.G1-Young-Generation.time", "über", "\x00"})
	return Raw{
		Worker: Worker{Topology: text.Draw(t, "topology"), Host: text.Draw(t, "host"),
			Port: rapid.Uint32().Draw(t, "port")},
		Component:   text.Draw(t, "component"),
		Task:        rapid.Int32().Draw(t, "task"),
		Name:        text.Draw(t, "name"),
		Key:         text.Draw(t, "key"),
		Shape:       Shape(rapid.Uint8().Draw(t, "shape")),
		Temporality: Temporality(rapid.Uint8().Draw(t, "temporality")),
		IntervalMs:  rapid.Int64().Draw(t, "interval"),
		PackSpanMs:  rapid.Int64().Draw(t, "pack"),
	}
}

// Decoding returns what was encoded. Data that are cut off anywhere are refused.
func TestEncoding(t *testing.T) {
	const magic = "BMTESTED"
	rapid.Check(t, func(t *rapid.T) {
		raw, float, yes := drawRaw(t), rapid.Float64().Draw(t, "float"), rapid.Bool().Draw(t, "bool")
		rule := Rule{Worker: raw.Worker, MinName: raw.Name, RestartsName: raw.Key, Temporality: raw.Temporality,
			PerUnit: float, IntervalMs: raw.IntervalMs,
			Series: Series{Kind: KindCounter, Labels: labels.FromStrings("__name__", "x", "worker",
				raw.Worker.String())}}
		e := NewEncoder(magic, 3)
		e.Raw(raw)
		e.Float(float)
		e.Rule(rule)
		e.Bool(yes)
		data := e.Finish()

		d, version, err := NewDecoder(data, magic, 3)
		require.NoError(t, err)
		require.Equal(t, uint64(3), version)
		require.Equal(t, raw, d.Raw())
		require.Equal(t, float, d.Float())
		require.Equal(t, rule, d.Rule())
		require.Equal(t, yes, d.Bool())
		require.NoError(t, d.Done())

		_, _, err = NewDecoder(data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")], magic, 3)
		require.Error(t, err)
	})
}

func TestDecoderReturnsWhatIsWrong(t *testing.T) {
	e := NewEncoder("BMTESTED", 1)
	e.Uint(1 << 40)
	for name, read := range map[string]func(*Decoder){
		"the maximum is 4294967295": func(d *Decoder) { d.Uint32() },
		"the maximum is 6":          func(d *Decoder) { d.Count(1) },
		"is not a boolean":          func(d *Decoder) { d.Bool() },
		"it refers to string":       func(d *Decoder) { _ = d.String() },
		"the maximum is 255":        func(d *Decoder) { d.Series() },
		"bytes after its end":       func(*Decoder) {},
		"it is truncated":           func(d *Decoder) { d.Uint(); d.Uint() },
	} {
		d, _, err := NewDecoder(e.Finish(), "BMTESTED", 1)
		require.NoError(t, err)
		read(d)
		assert.ErrorContains(t, d.Done(), name)
	}
}
