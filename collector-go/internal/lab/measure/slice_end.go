package measure

import "time"

// tail returns how long after the last step its slices may still arrive. A packed slice of the sampler comes up to two
// slice widths after its end and closes when the lateness has passed.
func (s *Session) tail() time.Duration { return 2*s.width + s.o.Lateness + 5*time.Second }

// nextSlice returns the first slice end that is not before t. Slices are aligned with the Unix epoch.
func nextSlice(t time.Time, width time.Duration) time.Time {
	ms, step := t.UnixMilli(), width.Milliseconds()
	return time.UnixMilli((ms + step - 1) / step * step)
}
