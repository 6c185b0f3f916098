// Package poll calls a function again and again, at an interval, until a context ends.
package poll

import (
	"context"
	"time"
)

// Until calls done at once, and then once per interval, until it returns true. If ctx ends first, Until returns the
// cause.
func Until(ctx context.Context, interval time.Duration, done func() bool) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Every calls do at once, and then once per interval, until ctx ends.
func Every(ctx context.Context, interval time.Duration, do func()) {
	_ = Until(ctx, interval, func() bool { // its error is the end of ctx
		do()
		return false
	})
}

// Ticks calls do once per interval, first after one interval, until ctx ends.
func Ticks(ctx context.Context, interval time.Duration, do func(now time.Time)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			do(now)
		case <-ctx.Done():
			return
		}
	}
}
