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
	commandsHead = "# Commands and flags\n\nThis page lists the output of `--help` for each command, in alphabetical order. Related pages:\n\n" +
		"- The [README](../README.md#the-commands) lists the commands by purpose.\n" +
		"- [Settings of the collector](configuration.md) lists the settings of `serve` with their keys in the configuration file.\n" +
		"- The [operating guide](operating.md#exit-codes) lists the exit codes.\n" +
		"- Each flag is also an [environment variable](configuration.md#environment-variables).\n"
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

// helpOf writes the help of a command and of its subcommands. A command that only groups others, and therefore has no
// example, is left out. load has subcommands and an example.
func helpOf(t *testing.T, command *cobra.Command, path []string, to *strings.Builder) {
	if len(command.Commands()) == 0 || command.Example != "" {
		writeHelp(t, path, to)
	}
	for _, below := range command.Commands() {
		if below.IsAvailableCommand() && below.Name() != "completion" {
			helpOf(t, below, append(path[:len(path):len(path)], below.Name()), to)
		}
	}
}

// writeHelp writes the help of the command with this path.
func writeHelp(t *testing.T, path []string, to *strings.Builder) {
	root := newRootCommand()
	var help bytes.Buffer
	root.SetOut(&help)
	root.SetErr(&help)
	root.SetArgs(append(path[:len(path):len(path)], "--help"))
	require.NoError(t, root.Execute())
	fmt.Fprintf(to, "\n## %s\n```text\n%s```\n", strings.Join(path, " "), help.String())
}
