package chaos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// malformed is scenario 12: every decoder of what comes from outside is fuzzed for a minute. A try is a fuzz target;
// fewer tries than there are draw theirs by the seed. `make test` runs the corpus that is in the repository.
func malformed() Scenario {
	return Scenario{Number: 12, Fault: "malformed input", Full: 40, Try: playMalformed}
}

const fuzzTime, leastFuzzTime = time.Minute, 5 * time.Second

// fuzzTarget is a function `FuzzX` of a package.
type fuzzTarget struct{ pkg, name string }

func playMalformed(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	targets, err := fuzzTargets(ctx, g)
	if err != nil {
		return o, err
	}
	g.Random(0).Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	total, inputs := len(targets), 0
	for _, target := range targets[:min(tries, total)] {
		n, broken, err := g.fuzz(ctx, target)
		if err != nil {
			return o, err
		}
		o.Tries++
		inputs += n
		o.Broken = append(o.Broken, broken...)
		g.Log.Info("fuzzed", "target", target.pkg+" "+target.name, "inputs", n)
	}
	o.Measured = append(o.Measured, fmt.Sprintf("%d of %d fuzz targets for %s each, %d inputs", o.Tries, total,
		g.Duration(fuzzTime, leastFuzzTime), inputs))
	return o, nil
}

// fuzzTargets are all of the module.
func fuzzTargets(ctx context.Context, g *Ground) (targets []fuzzTarget, err error) {
	sources := filepath.Join(g.Repository, "collector-go")
	files := exec.CommandContext(ctx, "grep", "-rlE", "^func Fuzz[A-Za-z0-9_]*\\(", "--include=*_test.go", ".")
	files.Dir = sources
	listed, err := files.Output()
	if err != nil {
		return nil, fmt.Errorf("looking for fuzz targets: %w", err)
	}
	for file := range strings.Lines(string(listed)) {
		file = strings.TrimSpace(file)
		names, err := exec.CommandContext(ctx, "grep", "-ohE", "^func Fuzz[A-Za-z0-9_]*",
			filepath.Join(sources, file)).Output()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		for name := range strings.Lines(string(names)) {
			targets = append(targets,
				fuzzTarget{"./" + path.Dir(file), strings.TrimPrefix(strings.TrimSpace(name), "func ")})
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("there is no fuzz target")
	}
	return targets, nil
}

// fuzz runs one target and returns how many inputs it was given.
func (g *Ground) fuzz(ctx context.Context, target fuzzTarget) (inputs int, broken []string, err error) {
	command := groupCommand(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+target.name+"$", "-fuzztime",
		g.Duration(fuzzTime, leastFuzzTime).String(),
		"-fuzzminimizetime", "100x", target.pkg)
	command.Dir = filepath.Join(g.Repository, "collector-go")
	said, err := command.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
		return 0, nil, fmt.Errorf("fuzzing %s of %s: %w", target.name, target.pkg, err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(said)); lines.Scan(); {
		if _, rest, is := strings.Cut(lines.Text(), "execs: "); is {
			_, _ = fmt.Sscan(rest, &inputs)
		}
	}
	if err != nil {
		broken = append(broken, fmt.Sprintf("%s of %s: %s", target.name, target.pkg, ending(said)))
	}
	return inputs, broken, nil
}

// ending is the last of what a command said.
func ending(said []byte) string {
	const most = 3000
	return string(said[max(0, len(said)-most):])
}
