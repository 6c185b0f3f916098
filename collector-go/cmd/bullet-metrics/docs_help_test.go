package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	commandsPage = "docs/commands.md"
	commandsHead = "# The commands, with all their flags\n\nWhat `--help` prints, in the order of the alphabet; the [README](../README.md#the-commands) has them by what they are for. " +
		"The settings of `serve` have\n[a page with their keys](configuration.md). Exit codes are listed in the [operating guide](operating.md#exit-codes).\n"
)

// The page is what --help prints; UPDATE_DOCS=1 go test writes it.
func TestTheCommandsPageIsTrue(t *testing.T) {
	t.Chdir("../../..")
	var want strings.Builder
	want.WriteString(commandsHead)
	helpOf(t, newRootCommand(), nil, &want)
	if os.Getenv("UPDATE_DOCS") != "" {
		require.NoError(t, os.WriteFile(commandsPage, []byte(want.String()), 0o644))
		return
	}
	page, err := os.ReadFile(commandsPage)
	require.NoError(t, err)
	assert.Equal(t, want.String(), string(page),
		"type: cd collector-go && UPDATE_DOCS=1 go test ./cmd/bullet-metrics -run CommandsPage")
}

// helpOf writes the help of a command that does something, and of those below it.
func helpOf(t *testing.T, command *cobra.Command, path []string, to *strings.Builder) {
	for _, below := range command.Commands() {
		if below.IsAvailableCommand() && below.Name() != "completion" {
			helpOf(t, below, append(path[:len(path):len(path)], below.Name()), to)
		}
	}
	if len(command.Commands()) > 0 {
		return
	}
	root := newRootCommand()
	var help bytes.Buffer
	root.SetOut(&help)
	root.SetErr(&help)
	root.SetArgs(append(path[:len(path):len(path)], "--help"))
	require.NoError(t, root.Execute())
	fmt.Fprintf(to, "\n## %s\n```text\n%s```\n", strings.Join(path, " "), help.String())
}
