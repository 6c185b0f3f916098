//go:build release

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func init() { furtherCommands = append(furtherCommands, newPackagingCommand) }

// newPackagingCommand makes a command that .ci/release builds and runs. It is not part of the released program, which
// does without the libraries that write man pages.
func newPackagingCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "packaging DIR",
		Short:  "Write the man pages and the completion scripts of a package, for /usr/share",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return writePackaging(cmd.Root(), args[0]) },
	}
}

// writePackaging writes the files that a package has below /usr/share. Their date is SOURCE_DATE_EPOCH, so that two
// releases of a commit are the same.
func writePackaging(root *cobra.Command, share string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return errors.New("SOURCE_DATE_EPOCH must be the time of the commit, in seconds")
	}
	date := time.Unix(seconds, 0).UTC()
	pages := filepath.Join(share, "man", "man1")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true // it has the date of today
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "bullet-metrics " + version, Manual: "Bullet Metrics"}
	if err := doc.GenManTree(root, header, pages); err != nil {
		return err
	}
	for name, write := range map[string]func(path string) error{
		"bash-completion/completions/bullet-metrics":    func(p string) error { return root.GenBashCompletionFileV2(p, true) },
		"zsh/site-functions/_bullet-metrics":            root.GenZshCompletionFile,
		"fish/vendor_completions.d/bullet-metrics.fish": func(p string) error { return root.GenFishCompletionFile(p, true) },
	} {
		path := filepath.Join(share, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := write(path); err != nil {
			return err
		}
	}
	return nil
}
