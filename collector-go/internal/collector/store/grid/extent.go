package grid

import "context"

// Extent writes what is in memory, and returns the ends of the oldest and newest slice in parts, gap markers included.
// ok is false if the store is empty. It reads no part, because the manifest has the times of each.
func (s *Store) Extent(ctx context.Context) (oldestMs, newestMs int64, ok bool, err error) {
	if err := s.Flush(ctx); err != nil {
		return 0, 0, false, err
	}
	s.lock.RLock()
	defer s.lock.RUnlock()
	for i, p := range s.pieces {
		if i == 0 {
			oldestMs, newestMs, ok = p.minMs, p.maxMs, true
		}
		oldestMs, newestMs = min(oldestMs, p.minMs), max(newestMs, p.maxMs)
	}
	return oldestMs, newestMs, ok, nil
}
