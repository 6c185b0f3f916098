//go:build golden

package releasetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// TestMakeGoldenData writes the data directory of the release that PROGRAM is, and what it answers of it.
func TestMakeGoldenData(t *testing.T) {
	program := os.Getenv("PROGRAM")
	require.NotEmpty(t, program, "PROGRAM is the release's binary")
	printed, err := exec.Command(program, "--version").Output()
	require.NoError(t, err)
	version := strings.TrimSpace(strings.TrimPrefix(string(printed), "bullet-metrics version "))
	require.Regexp(t, `^\d+\.\d+\.\d+$`, version, "that of a release")

	dir := filepath.Join(t.TempDir(), "data")
	out, err := exec.Command(program, "replay", "../../../topology/captures/capture-storm-1.2.4.jsonl", "--data-dir",
		dir).CombinedOutput()
	require.NoError(t, err, string(out))

	start := time.Now().Add(-readings * time.Second).Truncate(10 * time.Second)
	all := make([][]sender.Sample, readings)
	for i := range all {
		all[i] = reading(start.Add(time.Duration(i)*time.Second), i)
	}
	serve := func() *Served {
		return Start(t, exec.Command(program, "serve", "--data-dir", dir, "--grpc-listen", "127.0.0.1:0",
			"--http-listen", "127.0.0.1:0", "--store-embedded-retention-time", "0s"))
	}
	first := serve()
	s := connect(t, first.GRPC)
	Deliver(t, s, all[:stored]...)
	await(t, first, `storm_requests_total{topology="golden"}`, start.Add(40*time.Second))
	Deliver(t, s, all[stored:]...)
	first.Kill(t)
	packed := pack(t, dir)

	second := serve()
	Close(t, second.GRPC)
	await(t, second, `storm_requests_total{topology="golden"}`, start.Add((readings-1)*time.Second))
	second.Stop(t)
	r := Release{Version: version, At: start.Add((readings + 10) * time.Second).UTC()}
	answer, err := exec.Command(program, "query", dir, Selector, "--time", r.At.Format(time.RFC3339), "--output",
		"json").Output()
	require.NoError(t, err)
	r.Series = Parse(t, answer)
	require.Greater(t, r.Series.Samples(), 300)
	text, err := json.MarshalIndent(r, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("testdata/"+version+".json", append(text, '\n'), 0o644))
	require.NoError(t, os.WriteFile("testdata/"+version+".tar.gz", packed, 0o644))
}

// await returns when the newest sample of a series is of a time, or later.
func await(t *testing.T, s *Served, series string, at time.Time) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		response, err := http.Get("http://" + s.HTTP + "/api/v1/query?" +
			url.Values{"query": {series + "[1h]"}}.Encode())
		require.NoError(t, err)
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		response.Body.Close()
		for _, samples := range Parse(t, answer) {
			var newest [2]any
			require.NoError(t, json.Unmarshal([]byte(samples[len(samples)-1]), &newest))
			if newest[0].(float64) >= float64(at.Unix()) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.Fail(t, "no such sample", "%s of %s: %s", series, at, answer)
		}
	}
}

// pack is a directory as a compressed archive, the same for the same files.
func pack(t *testing.T, dir string) []byte {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if entry.IsDir() {
			return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: path + "/", Mode: 0o750})
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		if err == nil {
			err = archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o640,
				Size: int64(len(content))})
		}
		if err == nil {
			_, err = archive.Write(content)
		}
		return err
	}))
	require.NoError(t, archive.Close())
	assert.NoError(t, compressed.Close())
	return packed.Bytes()
}
