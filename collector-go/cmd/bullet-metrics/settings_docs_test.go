package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

const (
	settingsPage = "../../../docs/configuration.md"
	settingsHead = "| key | flag | default | meaning |\n|---|---|---|---|\n"
)

// The page's table is the settings' own; UPDATE_DOCS=1 go test writes it.
func TestTheConfigurationPageIsTrue(t *testing.T) {
	page, err := os.ReadFile(settingsPage)
	require.NoError(t, err)
	before, _, found := strings.Cut(string(page), settingsHead)
	require.True(t, found, "%s has no table of settings", settingsPage)
	want := before + settingsHead + settingsRows()
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(settingsPage, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(page),
		"type: cd collector-go && UPDATE_DOCS=1 go test ./cmd/bullet-metrics -run ConfigurationPage")
}

func settingsRows() string {
	c := config.Default()
	var rows strings.Builder
	for _, s := range config.Settings(&c) {
		value := ""
		if s.Default() != "" {
			value = "`" + s.Default() + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | `--%s` | %s | %s |\n", s.Key, s.Flag(), value, s.Usage)
	}
	return rows.String()
}
