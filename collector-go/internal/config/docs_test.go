package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/influx" // all kinds of stores, as the program has them
	_ "github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/remote"
)

const (
	docsPage  = "../../../docs/configuration.md"
	tableHead = "| key | flag | default | meaning |\n|---|---|---|---|\n"
)

// The page's table is the settings' own; UPDATE_DOCS=1 go test writes it.
func TestTheConfigurationPageIsTrue(t *testing.T) {
	page, err := os.ReadFile(docsPage)
	require.NoError(t, err)
	before, _, found := strings.Cut(string(page), tableHead)
	require.True(t, found, "%s has no table of settings", docsPage)
	want := before + tableHead + tableRows()
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(docsPage, []byte(want), 0o644))
	}
	require.Equal(t, want, string(page), "type: cd collector-go && UPDATE_DOCS=1 go test ./internal/config")
}

func tableRows() string {
	c := Default()
	var rows strings.Builder
	for _, s := range Settings(&c) {
		value := ""
		if s.Default() != "" {
			value = "`" + s.Default() + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | `--%s` | %s | %s |\n", s.Key, s.Flag(), value, s.Usage)
	}
	return rows.String()
}
