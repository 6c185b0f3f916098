package part

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// A merged part has the slices of its sources, whatever the lengths of the columns and the gaps between them, and even
// if columns overlap.
func TestMergedColumnsHoldWhatTheyHeld(t *testing.T) {
	l := labels.FromStrings("__name__", "m")
	rapid.Check(t, func(t *rapid.T) {
		fs, want := disktest.NewMemory(1), twin{}
		var parts []*Part
		at, step := int64(1000), int64(10)
		for i := range rapid.IntRange(2, 6).Draw(t, "parts") {
			slots := rapid.SampledFrom([]int{1, gatheredSlots, 60, 360, fullSlots - 1, fullSlots, 1500}).Draw(
				t, "slots")
			if rapid.IntRange(0, 5).Draw(t, "another step") == 0 {
				step = 30
			}
			at += step * rapid.SampledFrom([]int64{0, 0, 0, 1, 100, 1000, -5}).Draw(t, "gap")
			at += rapid.SampledFrom([]int64{0, 0, 0, 3}).Draw(t, "phase")
			r := run.Run{FirstMs: at, StepMs: step}
			for slot := range slots {
				r.Values = append(r.Values, float64(slot*i))
			}
			if rapid.Bool().Draw(t, "holes") {
				r.Present = make([]uint64, (slots+63)/64)
				for slot := range slots {
					if slot%3 != i%3 || slot == 0 {
						r.Present[slot>>6] |= 1 << (slot & 63)
					}
				}
			}
			at += int64(slots) * step
			name := fmt.Sprint(i)
			write(t, fs, name, WriterOptions{}, []one{{l, []run.Run{r}}})
			parts = append(parts, open(t, fs, name))
			want.add([]run.Run{r})
		}
		w, err := Create(fs, "merged", WriterOptions{})
		require.NoError(t, err)
		merge := Merge
		if rapid.Bool().Draw(t, "gathered") {
			merge = Gather
		}
		require.NoError(t, merge(t.Context(), w, parts))
		info, err := w.Finish()
		require.NoError(t, err)
		require.EqualValues(t, len(want), info.Slices)
		merged := open(t, fs, "merged")
		got := twin{}
		require.NoError(t, merged.Each(func(_ labels.Labels, runs []run.Run) error {
			got.add(runs)
			return nil
		}))
		require.Equal(t, want, got)
	})
}

// Gather keeps columns separate, and Merge joins them.
func TestGatheredColumnsStayAsTheyAre(t *testing.T) {
	l := labels.FromStrings("__name__", "m")
	fs := disktest.NewMemory(1)
	var parts []*Part
	for i, slots := range []int{60, 60, gatheredSlots - 1, gatheredSlots - 1, 60} {
		r := run.Run{FirstMs: int64(i) * 600_000, StepMs: 10_000, Values: make([]float64, slots)}
		write(t, fs, fmt.Sprint(i), WriterOptions{}, []one{{l, []run.Run{r}}})
		parts = append(parts, open(t, fs, fmt.Sprint(i)))
	}
	for name, how := range map[string]struct {
		merge   func(context.Context, *Writer, []*Part) error
		columns int
	}{"merged": {Merge, 1}, "gathered": {Gather, 4}} {
		w, err := Create(fs, name, WriterOptions{})
		require.NoError(t, err)
		require.NoError(t, how.merge(t.Context(), w, parts))
		_, err = w.Finish()
		require.NoError(t, err)
		c, err := open(t, fs, name).columnsOf(0)
		require.NoError(t, err)
		require.Len(t, c.of(0), how.columns, name)
	}
}
