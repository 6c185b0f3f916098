package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, oneTrial(t, synthetic()).WriteSingle(dir))
	for _, name := range []string{"timeline", "queries", "cpu", "heap", "gc", "latency"} {
		svg, err := os.ReadFile(filepath.Join(dir, "figures", name+".svg"))
		require.NoError(t, err)
		assertXML(t, svg)
		picture, err := os.Open(filepath.Join(dir, "figures", name+".png"))
		require.NoError(t, err)
		decoded, err := png.Decode(picture)
		require.NoError(t, err)
		assert.Equal(t, 1520, decoded.Bounds().Dx())
		require.NoError(t, picture.Close())
	}
	markdown, err := os.ReadFile(filepath.Join(dir, "report.md"))
	require.NoError(t, err)
	assert.Contains(t, string(markdown), "| Simultaneous queries | Average CPU ms/min | Average result size |")
	assert.Contains(t, string(markdown), `two \| parts <of> it`)
}

func assertXML(t *testing.T, text []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			require.NoError(t, err)
		}
	}
}

// The page must work offline, so the only URLs in it are names of XML namespaces.
func TestThePageNeedsNothingBesideIt(t *testing.T) {
	page := page(t, synthetic())
	for _, address := range regexp.MustCompile(`https?://[^\s"']+`).FindAllString(page, -1) {
		assert.True(t, strings.HasPrefix(address, "http://www.w3.org/"), address)
	}
	assert.NotRegexp(t, `<(script|link|img|iframe)\b`, page)
	assert.Contains(t, page, "var(--ink)", "the figures follow the page's colours")
	assert.NotContains(t, page, "#1F2328")
}

func TestHostileNamesStayText(t *testing.T) {
	run := synthetic()
	run.Topology = `<script>alert("x")</script>`
	run.Workers[0].Name = `"><script>alert(1)</script>`
	run.Notes = []string{"<b>note</b>"}
	r := build(t, run)
	page := page(t, run)
	assert.NotContains(t, page, "<script")
	assert.NotContains(t, page, "<b>note")
	require.NoError(t, r.WriteFigures(t.TempDir()))
}

// The path of a line starts again after a gap. Worker 6701 has one gap, and therefore one path more than worker 6700.
func TestAGapIsNotDrawnAcross(t *testing.T) {
	dir := t.TempDir()
	run := synthetic()
	run.Workers[1].StartsMs = nil // the mark of a restart is a path, too
	require.NoError(t, build(t, run).WriteFigures(dir))
	svg, err := os.ReadFile(filepath.Join(dir, "cpu.svg"))
	require.NoError(t, err)
	paths := func(colour string) int {
		return len(regexp.MustCompile(`<path d="M[^"]*"[^>]*stroke:`+colour).FindAllString(string(svg), -1))
	}
	whole, broken := paths("#2B7BD6"), paths("#D97706")
	require.Positive(t, whole)
	assert.Equal(t, whole+1, broken)
}

func TestRestartsAreMarkedInEveryPanel(t *testing.T) {
	count := func(run *runstore.Figures) int {
		dir := t.TempDir()
		require.NoError(t, build(t, run).WriteFigures(dir))
		svg, err := os.ReadFile(filepath.Join(dir, "timeline.svg"))
		require.NoError(t, err)
		return strings.Count(string(svg), "stroke-dasharray:2,2") + strings.Count(string(svg), ">restart<")
	}
	marked, plain := synthetic(), synthetic()
	plain.Workers[1].StartsMs = plain.Workers[1].StartsMs[:1]
	assert.Equal(t, count(plain)+5+1, count(marked), "a line a panel and one label")
}

// A cluster of hundreds of workers has a legend of two rows and a mean.
func TestManyWorkersKeepTheFigureReadable(t *testing.T) {
	run := synthetic()
	one := run.Workers[0]
	run.Workers = nil
	for i := range 100 {
		w := one
		w.Name = fmt.Sprintf("host-%d.example.com:6700", i)
		run.Workers = append(run.Workers, w)
	}
	dir := t.TempDir()
	require.NoError(t, build(t, run).WriteFigures(dir))
	svg, err := os.ReadFile(filepath.Join(dir, "cpu.svg"))
	require.NoError(t, err)
	assert.Regexp(t, `and 9\d more`, string(svg))
	assert.Less(t, strings.Count(string(svg), "host-"), 8)
	if out := os.Getenv("REPORT_OUT"); out != "" {
		require.NoError(t, build(t, run).WriteFigures(filepath.Join(out, "many")))
	}
}

// This writes the page twice for people to look at: REPORT_OUT=dir go test -run Sample.
func TestSample(t *testing.T) {
	dir := os.Getenv("REPORT_OUT")
	if dir == "" {
		t.Skip("REPORT_OUT names no directory")
	}
	require.NoError(t, oneTrial(t, synthetic()).WriteSingle(dir))
}
