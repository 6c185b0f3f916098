package measure

import "time"

// tail is how long after the last step its slices and queries may take: a slice of the sampler's packs comes up to two
// slice widths after its end, and closes when lateness has passed.
func (s *Session) tail() time.Duration { return 2*s.width + s.o.Lateness + 5*time.Second }

// nextSlice is the first end of a slice that is not before t. Slices are aligned with the Unix epoch.
func nextSlice(t time.Time, width time.Duration) time.Time {
	ms, step := t.UnixMilli(), width.Milliseconds()
	return time.UnixMilli((ms + step - 1) / step * step)
}
