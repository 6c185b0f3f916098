package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// fenced is a block of a page that has commands.
	fenced = regexp.MustCompile("(?s)```(?:sh|console|yaml)\n(.*?)```")
	// typed is a line that somebody types, or that a job runs.
	typed = regexp.MustCompile(`^(?:\$ |- run: |run: )?(?:build/)?bullet-metrics (.*)$`)
	// word is a word of a shell's command line, quoted or not, and a comment at its end.
	word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
)

// commandsOf are the command lines of bullet-metrics in a page's blocks, as words.
func commandsOf(page string) [][]string {
	var found [][]string
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
			match := typed.FindStringSubmatch(strings.TrimSpace(line))
			if match == nil {
				continue
			}
			var words []string
			for _, w := range word.FindAllString(match[1], -1) {
				if strings.HasPrefix(w, "#") || w == "|" || strings.HasPrefix(w, ">") || w == "&" {
					break
				}
				words = append(words, strings.NewReplacer("'", "", `"`, "").Replace(w))
			}
			found = append(found, words)
		}
	}
	return found
}

// pages are the repository's pages by their path from its root, which is the working directory.
func pages(t *testing.T) map[string]string {
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "build", "dist", "node_modules", "out", "target", "testdata"},
			entry.Name()):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		page, err := os.ReadFile(path)
		found[path] = string(page)
		return err
	}))
	return found
}

// Whatever a page asks a reader to type is accepted: the command, its flags, their values, and how many arguments.
func TestCommandsOfThePagesAreTaken(t *testing.T) {
	t.Chdir("../../..")
	commands := 0
	for path, page := range pages(t) {
		for _, words := range commandsOf(page) {
			commands++
			assert.NoError(t, parse(words), "%s: bullet-metrics %s", path, strings.Join(words, " "))
		}
	}
	assert.Greater(t, commands, 25, "the pages have commands")
}

func parse(words []string) error {
	cmd, rest, err := newRootCommand().Find(words)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil && err != pflag.ErrHelp {
		return err
	}
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return subcommands(cmd, args)
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

func TestAWrongCommandOnAPageIsFound(t *testing.T) {
	page := "```sh\nbullet-metrics tune run x.yaml   # go\nbullet-metrics load --rat 3 \\\n    --duration 1m\n```\n```sh\nbullet-metrics lode\n```\n```yaml\n  - run: build/bullet-metrics tune lsit > x\n```\n"
	commands := commandsOf(page)
	require.Equal(t, [][]string{{"tune", "run", "x.yaml"}, {"load", "--rat", "3", "--duration", "1m"}, {"lode"},
		{"tune", "lsit"}}, commands)
	assert.NoError(t, parse(commands[0]))
	assert.ErrorContains(t, parse(commands[1]), "--rat")
	assert.Error(t, parse(commands[2]))
	assert.Error(t, parse(commands[3]))
}
