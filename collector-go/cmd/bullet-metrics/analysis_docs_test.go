package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// console is a block with a command and what it writes.
var console = regexp.MustCompile("(?s)```console\n\\$ bullet-metrics tune ([^\n]*)\n(.*?)```")

// The pages' outputs are the commands' own; UPDATE_DOCS=1 go test writes them. A block that ends with a line of three
// dots has the first lines of the output.
func TestTheAnalysisPagesAreTrue(t *testing.T) {
	t.Chdir("../../..")
	for _, a := range analyses {
		name := a.name
		require.Contains(t, analysisPages, name)
	}
	for name, page := range analysisPages {
		t.Run(name, func(t *testing.T) { analysisPage(t, page, "analyze "+name) })
	}
	t.Run("size", func(t *testing.T) { analysisPage(t, "docs/tune/capacity.md", "size --records-per-s") })
	t.Run("predict", func(t *testing.T) {
		analysisPage(t, "docs/predict.md", "predict --from", "predict topology/experiments/test5.yaml")
	})
	t.Run("optimize", func(t *testing.T) {
		analysisPage(t, "docs/optimize.md", "optimize topology/experiments/optimize/test7.yaml")
	})
}

// analysisPages are the pages with a sample of each analysis.
var analysisPages = map[string]string{
	"concurrency": "docs/analysis.md",
	"data":        "docs/tune/scaling.md",
	"queries":     "docs/tune/scaling.md",
	"resources":   "docs/analysis.md",
	"scaling":     "docs/tune/scaling.md",
}

func analysisPage(t *testing.T, file string, commands ...string) {
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	var ran []string
	want := console.ReplaceAllStringFunc(string(page), func(block string) string {
		command := console.FindStringSubmatch(block)[1]
		args := strings.Fields(command)
		ran = append(ran, args[0]+" "+args[1])
		out, err := tune(t, args...)
		if err != nil {
			out = "bullet-metrics: " + err.Error() + "\n"
		}
		if shown, found := strings.CutSuffix(console.FindStringSubmatch(block)[2], "\n...\n"); found {
			lines := strings.SplitAfter(out, "\n")
			out = strings.Join(lines[:min(strings.Count(shown, "\n")+1, len(lines))], "") + "...\n"
		}
		return "```console\n$ bullet-metrics tune " + command + "\n" + out + "```"
	})
	require.Subset(t, ran, commands, "each command has its place on the page")
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(page),
		"type: cd collector-go && UPDATE_DOCS=1 go test ./cmd/bullet-metrics -run AnalysisPages")
}
