package chaos

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// property is a test of a package that plays histories, each made by its seed, against the code itself: for faults that only a disk in memory can
// play ten thousand times.
type property struct {
	pkg, test string // "./internal/feed", "TestWhateverHappens"
	// first and count are the flags for the first seed and for how many; counting from it.
	first, count string
	// atOnce is how many a process plays.
	atOnce int
}

// errTally is that a test which passed printed no tally.
var errTally = errors.New("the test printed no tally")

// play plays so many histories in as many processes at once as there are processors. What fails is a broken promise.
func (p property) play(ctx context.Context, g *Ground, tries int) (all tally, broken []string, err error) {
	if _, err := g.built(ctx, p.pkg); err != nil { // once, before several want it
		return nil, nil, err
	}
	all = tally{}
	var mu sync.Mutex
	var failures []error
	var workers sync.WaitGroup
	parts := make(chan [2]int)
	for range runtime.NumCPU() {
		workers.Go(func() {
			for part := range parts {
				one, failed, err := p.process(ctx, g, part[0], part[1])
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
func (p property) process(ctx context.Context, g *Ground, first, count int) (tally, string, error) {
	tested, err := g.Test(ctx, p.pkg, "^"+p.test+"$", fmt.Sprintf("-%s=%d", p.first, first), fmt.Sprintf("-%s=%d", p.count, count))
	if err == nil && tested.Broken == "" && len(tested.Tally) == 0 {
		err = fmt.Errorf("%s of %s: %w", p.test, p.pkg, errTally)
	}
	return tested.Tally, tested.Broken, err
}
