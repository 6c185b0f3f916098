// Package releasetest has, of each release, the data directory of a collector that was killed while it took samples,
// and every sample that this release answers with once it is started on it again. Tests hold later programs to that.
// `make golden-data` adds a release.
package releasetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

//go:embed testdata
var testdata embed.FS

// Topology is whose samples the killed collector had acknowledged; those of the topology "word" were in its store.
const Topology = "golden"

// Selector finds what was measured: not what each program says of itself, nor what its rules give.
const Selector = `{__name__!~"bullet_metrics_.*|ALERTS.*|.*:.*",topology=~"` + Topology + `|word"}[400d]`

// ahead is as much as a sample may be before the collector's clock, and more than what a slice waits for late ones.
const ahead = 5 * time.Minute

// patience bounds a wait for an acknowledgement.
const patience = time.Minute

// Release is one, with what it answers to Selector at a time.
type Release struct {
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	Series  Series    `json:"series"`
}

// Series are samples by the series' labels, each as [seconds, value or histogram], in JSON.
type Series map[string][]string

// All are the releases.
func All(t testing.TB) []Release {
	names, err := fs.Glob(testdata, "testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var all []Release
	for _, name := range names {
		text, err := testdata.ReadFile(name)
		require.NoError(t, err)
		var r Release
		require.NoError(t, json.Unmarshal(text, &r))
		require.Equal(t, r.Version+".json", path.Base(name))
		all = append(all, r)
	}
	return all
}

// Of is the release that a program is.
func Of(t testing.TB, program string) Release {
	printed, err := exec.Command(program, "--version").Output()
	require.NoError(t, err)
	version := strings.TrimSpace(strings.TrimPrefix(string(printed), "bullet-metrics version "))
	all := All(t)
	i := slices.IndexFunc(all, func(r Release) bool { return r.Version == version })
	require.GreaterOrEqual(t, i, 0, "there is no data of release %s: type make golden-data PROGRAM=%s",
		version, program)
	return all[i]
}

// Unpack writes the release's data directory to dir, which is made.
func (r Release) Unpack(t testing.TB, dir string) {
	packed, err := testdata.ReadFile("testdata/" + r.Version + ".tar.gz")
	require.NoError(t, err)
	text, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o750))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for files := tar.NewReader(text); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		if header.FileInfo().IsDir() {
			require.NoError(t, root.MkdirAll(path.Clean(header.Name), 0o750))
			continue
		}
		content, err := io.ReadAll(files)
		require.NoError(t, err)
		require.NoError(t, root.WriteFile(filepath.FromSlash(header.Name), content, 0o640))
	}
}

// Close delivers a sample of each series of Topology, later than all that the release was sent, so that every slice of
// those closes.
func Close(t testing.TB, grpcAddress string) {
	s := connect(t, grpcAddress)
	Deliver(t, s, reading(time.Now().Add(ahead), readings))
}

// connect returns a sender of Topology, which runs until the test ends.
func connect(t testing.TB, grpcAddress string) *sender.Sender {
	s, err := sender.New(sender.DefaultOptions(grpcAddress, Topology, "worker-1", "filter"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Run(ctx) // ended by the test
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return s
}

// Deliver sends samples and returns when they are acknowledged.
func Deliver(t testing.TB, s *sender.Sender, samples ...[]sender.Sample) {
	for _, batch := range samples {
		s.Offer(batch)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, s.Flush(ctx))
	figures := s.Figures()
	require.Equal(t, figures.Offered, figures.Acknowledged, "%+v", figures)
}

// Parse reads what `bullet-metrics query --output json` or the API printed.
func Parse(t testing.TB, answer []byte) Series {
	var parsed struct {
		Status string
		Data   struct {
			Result []struct {
				Metric             map[string]string
				Values, Histograms []json.RawMessage
			}
		}
	}
	require.NoError(t, json.Unmarshal(answer, &parsed), string(answer))
	require.Equal(t, "success", parsed.Status, string(answer))
	series := Series{}
	for _, one := range parsed.Data.Result {
		labels, err := json.Marshal(one.Metric) // sorted by name
		require.NoError(t, err)
		for _, sample := range append(one.Values, one.Histograms...) {
			series[string(labels)] = append(series[string(labels)], string(sample))
		}
	}
	return series
}

// Samples is how many there are.
func (s Series) Samples() (n int) {
	for _, samples := range s {
		n += len(samples)
	}
	return n
}

// RequireKept fails where a sample that the release answers with is not in kept, or where one is that the release did
// not know.
func (r Release) RequireKept(t testing.TB, kept Series) {
	t.Helper()
	var wrong []string
	for labels, samples := range r.Series {
		if got := kept[labels]; strings.Join(got, " ") != strings.Join(samples, " ") {
			wrong = append(wrong, labels+": had "+strings.Join(samples, " ")+", has "+strings.Join(got, " "))
		}
	}
	for labels := range kept {
		if r.Series[labels] == nil {
			wrong = append(wrong, labels+" was not there")
		}
	}
	require.Empty(t, wrong, "%d samples of %d series of release %s", r.Series.Samples(), len(r.Series), r.Version)
	t.Logf("kept all %d samples of %d series of release %s", r.Series.Samples(), len(r.Series), r.Version)
}
