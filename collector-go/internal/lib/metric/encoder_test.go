package metric

import (
	"strings"
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
		c := Writing(magic, 3)
		c.Raw(&raw)
		c.Float(&float)
		c.Rule(&rule)
		c.Bool(&yes)
		data := c.Finish()

		d, err := Reading(data, magic, 2, 3)
		require.NoError(t, err)
		require.Equal(t, uint64(3), d.Version)
		var gotRaw Raw
		var gotFloat float64
		var gotRule Rule
		var gotYes bool
		d.Raw(&gotRaw)
		d.Float(&gotFloat)
		d.Rule(&gotRule)
		d.Bool(&gotYes)
		require.NoError(t, d.Done())
		require.Equal(t, raw, gotRaw)
		require.Equal(t, float, gotFloat)
		require.Equal(t, rule, gotRule)
		require.Equal(t, yes, gotYes)

		_, err = Reading(data, magic, 2, 4)
		require.ErrorContains(t, err, "its format is version 3, but this program supports only 2 and 4")
		_, err = Reading(data, magic, 4, 5)
		require.ErrorContains(t, err, "its format is version 3, but this program supports only 4 and 5")
		_, err = Reading(data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")], magic, 2, 3)
		require.Error(t, err)
	})
}

func TestDecoderReturnsWhatIsWrong(t *testing.T) {
	e := newEncoder("BMTESTED", 1)
	e.Uint(1 << 40)
	for name, read := range map[string]func(*decoder){
		"the maximum is 4294967295": func(d *decoder) { d.Uint32() },
		"the maximum is 6":          func(d *decoder) { d.Count(1) },
		"is not a boolean":          func(d *decoder) { d.Bool() },
		"it refers to string":       func(d *decoder) { _ = d.String() },
		"the maximum is 255":        func(d *decoder) { (&Coder{d: d}).Series(&Series{}) },
		"bytes after its end":       func(*decoder) {},
		"it is truncated":           func(d *decoder) { d.Uint(); d.Uint() },
	} {
		d, _, err := newDecoder(e.Finish(), "BMTESTED", 1)
		require.NoError(t, err)
		read(d)
		assert.ErrorContains(t, d.Done(), name)
	}
}

func TestListsAndMapsAreReadAsTheyWereWritten(t *testing.T) {
	list, names := []int64{3, -1}, map[string]uint64{"b": 2, "a": 1}
	number, none := new(int64), (*int64)(nil)
	*number = 7
	code := func(c *Coder, list *[]int64, names map[string]uint64, a, b **int64) {
		List(c, list, func(v *int64) { c.Int(v) })
		Map(c, names, strings.Compare, func(k *string) { c.String(k) }, func(_ *string, v *uint64) { c.Uint(v) })
		for _, v := range []**int64{a, b} {
			Optional(c, v, func(v *int64) { c.Int(v) })
		}
	}
	w := Writing("BMTESTED", 1)
	code(w, &list, names, &number, &none)
	r, err := Reading(w.Finish(), "BMTESTED", 1)
	require.NoError(t, err)
	var gotList []int64
	var gotNumber, gotNone *int64
	gotNames := map[string]uint64{}
	code(r, &gotList, gotNames, &gotNumber, &gotNone)
	require.NoError(t, r.Done())
	assert.Equal(t, list, gotList)
	assert.Equal(t, names, gotNames)
	assert.Equal(t, number, gotNumber)
	assert.Nil(t, gotNone)

	twice, key, value := Writing("BMTESTED", 1), "a", uint64(1)
	twice.Count(2)
	for range 2 {
		twice.String(&key)
		twice.Uint(&value)
	}
	r, err = Reading(twice.Finish(), "BMTESTED", 1)
	require.NoError(t, err)
	Map(r, map[string]uint64{}, strings.Compare, func(k *string) { r.String(k) },
		func(_ *string, v *uint64) { r.Uint(v) })
	assert.EqualError(t, r.Done(), "an entry appears twice")
}
