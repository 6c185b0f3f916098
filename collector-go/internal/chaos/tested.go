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
	Tally map[string]int64
	// Broken is "" where they passed, else the end of what they said.
	Broken string
}

// Test builds the tests of a package, such as "./internal/feed", once a row, and runs those whose names match run. The error says that they could not
// be built or started.
func (g *Ground) Test(ctx context.Context, pkg, run string, flags ...string) (Tested, error) {
	sources := filepath.Join(g.Repository, "collector-go")
	binary := filepath.Join(g.Dir, strings.NewReplacer("./", "", "/", "-").Replace(pkg)+".test")
	if _, err := os.Stat(binary); err != nil {
		build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, pkg)
		build.Dir = sources
		if said, err := build.CombinedOutput(); err != nil {
			return Tested{}, fmt.Errorf("building the tests of %s: %w: %s", pkg, err, ending(said))
		}
	}
	command := exec.CommandContext(ctx, binary, append([]string{"-test.run", run, "-test.timeout", "0"}, flags...)...)
	command.Dir = filepath.Join(sources, pkg)
	said, err := command.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
		return Tested{}, fmt.Errorf("running the tests of %s: %w", pkg, err)
	}
	tested := Tested{Tally: tally(string(said))}
	switch {
	case err != nil:
		tested.Broken = fmt.Sprintf("%s -run %s %s: %s", pkg, run, strings.Join(flags, " "), ending(said))
	case strings.Contains(string(said), "no tests to run"):
		return Tested{}, fmt.Errorf("%s has no test %s", pkg, run)
	}
	return tested, nil
}

// tally reads the lines "tally: name=value ...".
func tally(said string) map[string]int64 {
	all := map[string]int64{}
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

// ending is the last of what a command said.
func ending(said []byte) string {
	const most = 3000
	return string(said[max(0, len(said)-most):])
}
