package chaos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// property is a test of a package that plays histories, each made by its seed, against the code itself: for faults that
// only a disk in memory can play ten thousand times.
type property struct {
	pkg, test string // "./internal/collector/feed", "TestWhateverHappens"
	// first and count are the flags for the first seed and for how many; counting from it.
	first, count string
	// atOnce is how many a process plays.
	atOnce int
	// each are figures of the tally of which a scenario has some, or it tried less than it says.
	each []string
}

// tally is what a test printed at its end, in the line `tally: name=number ...`.
type tally map[string]int64

func (t tally) add(other tally) {
	for name, n := range other {
		t[name] += n
	}
}

// errTally is that a test which passed printed no tally.
var errTally = errors.New("the test printed no tally")

// play plays so many histories in as many processes at once as there are processors. What fails is a broken promise.
func (p property) play(ctx context.Context, g *Ground, tries int) (all tally, broken []string, err error) {
	binary := filepath.Join(g.Dir, filepath.Base(p.pkg)+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, p.pkg)
	build.Dir = filepath.Join(g.Repository, "collector-go")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("go test -c %s: %w: %s", p.pkg, err, out)
	}
	all = tally{}
	var mu sync.Mutex
	var failures []error
	var workers sync.WaitGroup
	parts := make(chan [2]int)
	for range runtime.NumCPU() {
		workers.Go(func() {
			for part := range parts {
				one, failed, err := p.process(ctx, g, binary, part[0], part[1])
				mu.Lock()
				all.add(one)
				if failed != "" {
					broken = append(broken, failed)
				}
				failures = append(failures, err)
				g.Log.Debug("played", "test", p.test, "first", part[0], "histories", part[1])
				mu.Unlock()
			}
		})
	}
	for from := 0; from < tries; from += p.atOnce {
		parts <- [2]int{int(g.Seed-1)*1_000_000 + from + 1, min(p.atOnce, tries-from)}
	}
	close(parts)
	workers.Wait()
	return all, broken, errors.Join(failures...)
}

// process plays histories in a process of their own.
func (p property) process(ctx context.Context, g *Ground, binary string, first, count int) (tally, string, error) {
	flags := []string{"-test.run=^" + p.test + "$", "-test.timeout=2h", fmt.Sprintf("-%s=%d", p.first, first),
		fmt.Sprintf("-%s=%d", p.count, count)}
	command := exec.CommandContext(ctx, binary, flags...)
	command.Dir = filepath.Join(g.Repository, "collector-go", p.pkg)
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	if err != nil {
		log := filepath.Join(g.Dir, fmt.Sprintf("%s-%d.log", p.test, first))
		if err := os.WriteFile(log, out, 0o640); err != nil {
			return nil, "", err
		}
		return nil, fmt.Sprintf("%s of %s failed among the seeds %d to %d: see %s", p.test, p.pkg, first,
			first+count-1, log), nil
	}
	one, err := readTally(out)
	return one, "", err
}

func readTally(out []byte) (tally, error) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		text, found := strings.CutPrefix(lines.Text(), "tally: ")
		if !found {
			continue
		}
		all := tally{}
		for _, pair := range strings.Fields(text) {
			name, number, _ := strings.Cut(pair, "=")
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
			all[name] = n
		}
		return all, nil
	}
	return nil, errTally
}

// text is a tally's numbers less the samples, which have columns of their own, in an order that does not change.
func (t tally) text(names ...string) string {
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", t[name], strings.ReplaceAll(name, "_", " ")))
	}
	return strings.Join(parts, ", ")
}
