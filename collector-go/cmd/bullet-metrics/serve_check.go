package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/redact"
)

// standing is how something stands that serve would need.
type standing string

// The worst is first, as they are printed.
const (
	wrong standing = "WRONG" // a setting, or a file that one names: somebody must change it
	away  standing = "AWAY"  // what cannot be reached or had now, and may be later
	fine  standing = "ok"
)

// looked is what one look found.
type looked struct {
	standing standing
	says     string
}

func allWrong(err error) (all []looked) {
	for _, fault := range faultsIn(err) {
		all = append(all, looked{wrong, fault.Error()})
	}
	return all
}

// faultsIn are the single faults of an error that joins several, each once.
func faultsIn(err error) (all []error) {
	if err == nil {
		return nil
	}
	several, is := err.(interface{ Unwrap() []error }) //nolint:errorlint // only what is joined is several faults
	if !is {
		return []error{err}
	}
	for _, one := range several.Unwrap() {
		all = append(all, faultsIn(one)...)
	}
	return slices.CompactFunc(all, func(a, b error) bool { return a.Error() == b.Error() })
}

// checkFailed is what serve --check ends with where not all is well.
type checkFailed struct{ wrong, away int }

func (f checkFailed) Error() string {
	return fmt.Sprintf("serve --check: %d wrong, %d away; nothing was started", f.wrong, f.away)
}

// ExitCode separates what somebody must change from what may come back by itself.
func (f checkFailed) ExitCode() int {
	if f.wrong > 0 {
		return exitUsage
	}
	return exitFailed
}

// checkServe looks at everything that a collector of these settings needs, and prints it, the worst first. ofSettings
// is what is wrong with the settings themselves: what could be read of them is looked at all the same.
func checkServe(ctx context.Context, c config.Config, lines config.Lines, ofSettings error, tooLarge []string,
	out io.Writer) error {
	all := allWrong(ofSettings)
	for _, warning := range tooLarge {
		all = append(all, looked{away, warning})
	}
	if ofSettings == nil {
		all = append(all, looked{fine, "settings"})
	}
	all = append(all, lookAtAccess(c, lines)...)
	if err := lines.Locate(checkNamed(c)); err != nil {
		all = append(all, allWrong(err)...)
	} else {
		all = append(all, looked{fine,
			fmt.Sprintf("rules (%d files of yours), stores (%d on the network) and what else settings name",
				len(c.Rules.Files), storesOf(c))})
	}
	holder := holderOf(c)
	all = append(all, lookAtAddresses(c, holder)...)
	all = append(all, lookAtOthers(ctx, c)...)
	all = append(all, lookAtDisk(c, holder)...)
	all = append(all, lookAtData(c.DataDir, holder)...)
	return printChecked(out, secretsOf(c), all)
}

// printChecked prints each thing once, the worst first.
func printChecked(out io.Writer, hiding redact.Secrets, all []looked) error {
	var failed checkFailed
	said := map[string]bool{}
	var b strings.Builder
	for _, s := range []standing{wrong, away, fine} {
		for _, l := range all {
			text := hiding.Hide(l.says)
			if l.standing != s || said[text] {
				continue
			}
			said[text] = true
			fmt.Fprintf(&b, "%-5s  %s\n", s, strings.ReplaceAll(text, "\n", "\n       "))
			failed.wrong += map[bool]int{true: 1}[s == wrong]
			failed.away += map[bool]int{true: 1}[s == away]
		}
	}
	_, err := io.WriteString(out, b.String())
	if failed != (checkFailed{}) {
		err = errors.Join(err, failed)
	}
	return err
}
