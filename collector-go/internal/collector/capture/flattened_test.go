package capture

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

var update = flag.Bool("update", false, "rewrite topology/captures/flattened")

// topology/captures/flattened has the result of flattening each capture: component, name, keys, shape and number of
// numbers. The plugin's FlattenedCapturesTest compares its own Flattener with the same files.
func TestCapturesFlattenAsInThePlugin(t *testing.T) {
	captures := filepath.Join("..", "..", "..", "..", "topology", "captures")
	files, err := filepath.Glob(filepath.Join(captures, "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		golden := filepath.Join(captures, "flattened", strings.TrimSuffix(filepath.Base(file), ".jsonl")+".txt")
		got := flattenedText(t, file)
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o777))
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got, file)
	}
}

// flattenedText counts the numbers of a capture by name, without regard to tasks, workers and times.
func flattenedText(t *testing.T, path string) string {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	counts, unsupported := map[string]int{}, 0
	for reader := NewReader(path, file); ; {
		p, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		unsupported += p.Unsupported
		for _, s := range p.Samples {
			shape := map[metric.Shape]string{metric.ShapeNumber: "number", metric.ShapeMap: "map"}[s.Shape]
			keys := strings.ReplaceAll(s.Key, metric.KeySeparator, ", ")
			counts[fmt.Sprintf("%s %s [%s] %s", p.Component, p.Name, keys, shape)]++
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s %d\n", name, counts[name])
	}
	fmt.Fprintf(&b, "unsupported %d\n", unsupported)
	return b.String()
}
