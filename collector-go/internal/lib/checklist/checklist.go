// Package checklist holds the results of checks, and prints them with the worst first.
package checklist

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Result is the result of a check.
type Result string

// Results, the worst first. They are printed in this order.
const (
	Wrong       Result = "WRONG"       // a setting, or a file that one names, must be changed
	Unreachable Result = "UNREACHABLE" // another program does not answer now
	Warning     Result = "WARNING"     // a limit does not fit, or a resource is in use
	OK          Result = "ok"
)

// Item is a check with its result.
type Item struct {
	Result Result
	Text   string
}

// Faults returns an item for each single error.
func Faults(err error) (all []Item) {
	for _, fault := range Split(err) {
		all = append(all, Item{Wrong, fault.Error()})
	}
	return all
}

// Split returns the single errors of an error that joins several, without duplicates.
func Split(err error) (all []error) {
	if err == nil {
		return nil
	}
	several, joined := err.(interface{ Unwrap() []error }) //nolint:errorlint // only joined errors are several faults
	if !joined {
		return []error{err}
	}
	for _, one := range several.Unwrap() {
		all = append(all, Split(one)...)
	}
	return slices.CompactFunc(all, func(a, b error) bool { return a.Error() == b.Error() })
}

// Print writes each item once, the worst first, and returns the number of items with each result. hide removes secrets
// from a text.
func Print(out io.Writer, hide func(string) string, items []Item) (counts map[Result]int, err error) {
	counts = map[Result]int{}
	printed := map[string]bool{}
	var b strings.Builder
	for _, result := range []Result{Wrong, Unreachable, Warning, OK} {
		for _, item := range items {
			text := hide(item.Text)
			if item.Result != result || printed[text] {
				continue
			}
			printed[text] = true
			counts[result]++
			fmt.Fprintf(&b, "%-11s  %s\n", result, strings.ReplaceAll(text, "\n", "\n             "))
		}
	}
	_, err = io.WriteString(out, b.String())
	return counts, err
}
