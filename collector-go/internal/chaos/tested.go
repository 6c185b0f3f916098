package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Tested is what came of tests that play a fault inside the process.
type Tested struct {
	// Tally is what the tests printed last, of all lines `tally: name=value ...`; later lines win.
	Tally tally
	// Broken is "" where they passed, else the end of what they said.
	Broken string
}

// Test builds the tests of a package, such as "./internal/feed", once a row, and runs those whose names match run. The error says that they could not
// be built or started.
func (g *Ground) Test(ctx context.Context, pkg, run string, flags ...string) (Tested, error) {
	binary, err := g.built(ctx, pkg)
	if err != nil {
		return Tested{}, err
	}
	command := exec.CommandContext(ctx, binary, append([]string{"-test.run", run, "-test.timeout", "0"}, flags...)...)
	command.Dir = filepath.Join(g.Repository, "collector-go", pkg)
	said, err := command.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
		return Tested{}, fmt.Errorf("running the tests of %s: %w", pkg, err)
	}
	tested := Tested{Tally: readTally(string(said))}
	switch {
	case err != nil:
		tested.Broken = fmt.Sprintf("%s -run %s %s: %s", pkg, run, strings.Join(flags, " "), ending(said))
	case strings.Contains(string(said), "no tests to run"):
		return Tested{}, fmt.Errorf("%s has no test %s", pkg, run)
	}
	return tested, nil
}

// built is the program of a package's tests, built where it is not there yet.
func (g *Ground) built(ctx context.Context, pkg string) (string, error) {
	binary := filepath.Join(g.Dir, strings.NewReplacer("./", "", "/", "-").Replace(pkg)+".test")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, pkg)
	build.Dir = filepath.Join(g.Repository, "collector-go")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the tests of %s: %w: %s", pkg, err, ending(said))
	}
	return binary, nil
}

// tally is what tests printed at their end, in lines `tally: name=number ...`.
type tally map[string]int64

func readTally(said string) tally {
	all := tally{}
	for line := range strings.Lines(said) {
		rest, is := strings.CutPrefix(line, "tally: ")
		if !is {
			continue
		}
		for _, pair := range strings.Fields(rest) {
			name, text, _ := strings.Cut(pair, "=")
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				all[name] = n
			}
		}
	}
	return all
}

func (t tally) add(other tally) {
	for name, n := range other {
		t[name] += n
	}
}

// text is a tally's numbers less the samples, which have columns of their own, in an order that does not change.
func (t tally) text(names ...string) string {
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", t[name], strings.ReplaceAll(name, "_", " ")))
	}
	return strings.Join(parts, ", ")
}

// ending is the last of what a command said.
func ending(said []byte) string {
	const most = 3000
	return string(said[max(0, len(said)-most):])
}
