package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testdata/names has captures of topologies whose metrics are named as Storm's or ours are, or that differ between
// Storm's releases. Beside each is what is to be stored of it: the last value of each series, in the order of their
// names, and what is not stored, by name.
func TestWhatAMetricIsIsDecidedByWhoSendsIt(t *testing.T) {
	files, err := filepath.Glob("testdata/names/*.jsonl")
	require.NoError(t, err)
	require.Len(t, files, 13)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			dir := t.TempDir()
			r := replayInto(t, dir, file)
			var lines []string
			for _, s := range ask(t, dir, `last_over_time({__name__=~".+",__name__!~"bullet_metrics_.*|bullet_topology_info"}[1000d])`) {
				lines = append(lines, lastOf(t, s))
			}
			slices.Sort(lines)
			for _, names := range r.NotStored {
				for _, n := range names {
					lines = append(lines, fmt.Sprintf("not stored: %s of %s, %d series, %s: %s is", n.Metric, n.Component,
						n.Series, n.Reason, n.Beside))
				}
			}
			assert.Empty(t, withoutCollisions(r.Refused))
			path := strings.TrimSuffix(file, ".jsonl") + ".txt"
			got := strings.Join(lines, "\n") + "\n"
			if *updateReplays {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// withoutCollisions are the reasons of refusal but for those that are listed by name.
func withoutCollisions(refused map[string]uint64) map[string]uint64 {
	delete(refused, "collision")
	return refused
}

func lastOf(t *testing.T, s series) string {
	var labels []string
	for name, value := range s.Metric {
		if name != "__name__" && name != "topology" {
			labels = append(labels, fmt.Sprintf("%s=%q", name, value))
		}
	}
	slices.Sort(labels)
	return fmt.Sprintf("%s{%s} %v", s.Metric["__name__"], strings.Join(labels, ","), number(t, s.Value[1]))
}
