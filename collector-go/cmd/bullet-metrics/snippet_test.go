package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/stormconfig"
)

// The page's examples are what the program prints.
func TestSnippetPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../../../docs/storm-snippet.md")
	require.NoError(t, err)
	examples := 0
	for _, block := range strings.Split(string(page), "```")[1:] {
		command, want, found := strings.Cut(strings.TrimPrefix(block, "yaml\n"), "\n")
		if !found || !strings.HasPrefix(command, "# $ bullet-metrics ") {
			continue
		}
		out, err := program(strings.Fields(strings.TrimPrefix(command, "# $ bullet-metrics "))...)
		require.NoError(t, err)
		assert.Equal(t, want, out, command)
		examples++
	}
	assert.Equal(t, 2, examples)
}

func TestSnippetAsJSON(t *testing.T) {
	out, err := program("storm", "snippet", "--storm", "2.8.3", "--bullet", "0.4.3", "--output", "json")
	require.NoError(t, err)
	var s stormconfig.SettingsFile
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	assert.Equal(t, "bullet_settings.yaml", s.File)
	assert.Contains(t, out, `[{"class":"io.github.bulletmetrics.storm.StormMetricsConsumer","parallelism.hint":1,`)
	out, err = program("storm", "snippet", "--storm", "2.8.3", "--plain", "--output", "json")
	require.NoError(t, err)
	assert.Contains(t, out, `"automatic":[]`)
}

func TestSnippetUsage(t *testing.T) {
	for line, says := range map[string]string{
		"storm snippet":                                    "--storm is required",
		"storm snippet --storm two":                        `--storm: "two" is not a version`,
		"storm snippet --storm 2.8 --bullet x":             `--bullet: "x" is not a version`,
		"storm snippet --storm 3.0":                        "unsupported Storm version 3.0",
		"storm snippet --storm 2.8 --plain --bullet 1.3":   "cannot be combined with --bullet",
		"storm snippet --storm 2.8 --output yaml":          "--output",
		"storm snippet --storm 2.8 --address collector":    "missing port; use HOST:PORT",
		"storm snippet --storm 2.8 more":                   "takes no argument",
		"storm snippets":                                   "unknown command",
		"storm snippet --storm 2.8 --executors many":       "use a whole number",
		"storm snippet --storm 2.8 --no-such-flag-as-this": "unknown flag",
	} {
		_, err := program(strings.Fields(line)...)
		require.ErrorContains(t, err, says, line)
		assert.Equal(t, exitUsage, exitCode(err), line)
	}
}
