package load

import (
	"context"
	"time"
)

// WaitUntil waits until a moment, and reports whether the moment came before ctx ended. A moment in the past has come.
func WaitUntil(ctx context.Context, moment time.Time) bool {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
