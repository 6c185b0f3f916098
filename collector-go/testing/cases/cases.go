// Package cases decides how many cases a property test or a simulation runs: few with `go test -short`, which make test
// uses, and all without it, as in make test-all. A flag that names a number wins over both.
package cases

import (
	"flag"
	"strconv"
	"testing"
)

// Number returns few with -short, and all without it.
func Number(all, few int) int {
	if testing.Short() {
		return few
	}
	return all
}

// Full skips the test with -short, because of what it needs.
func Full(t testing.TB, need string) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs this test: it needs " + need)
	}
}

// Count is a flag for a number of cases.
type Count struct {
	all, few uint64
	given    bool
}

// Flag defines a flag for a number of cases. Without the flag, -short decides between all and few.
func Flag(name string, all, few uint64, usage string) *Count {
	c := &Count{all: all, few: few}
	flag.Var(c, name, usage+"; "+strconv.FormatUint(few, 10)+" with -short")
	return c
}

// N returns the number of cases. It is known once the flags are parsed.
func (c *Count) N() uint64 {
	if testing.Short() && !c.given {
		return c.few
	}
	return c.all
}

// Set implements flag.Value.
func (c *Count) Set(text string) (err error) {
	c.given = true
	c.all, err = strconv.ParseUint(text, 0, 64)
	return err
}

// String implements flag.Value.
func (c *Count) String() string { return strconv.FormatUint(c.all, 10) }
