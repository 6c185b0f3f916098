package disk

import "time"

// Shortage measures how long a disk has been short of space. Another program may fill the disk for a moment. Actions
// that cannot be undone, such as deleting data, therefore wait until the shortage has lasted. The user calls Look
// about once a second.
type Shortage struct {
	lasted time.Duration
	looked time.Time // time of the last Look during the shortage; zero without one
}

// longestLook is the maximum time that one interval between two calls of Look counts. What happened in a longer one is
// unknown: the machine was suspended, its clock was set, or nobody called Look.
const longestLook = 10 * time.Second

// Look records whether the disk is short of space now. It returns how long the shortage has lasted without
// interruption, and whether it begins now.
func (s *Shortage) Look(short bool, now time.Time) (lasted time.Duration, begins bool) {
	if !short {
		*s = Shortage{}
		return 0, false
	}
	if begins = s.looked.IsZero(); !begins {
		s.lasted += min(max(now.Sub(s.looked), 0), longestLook)
	}
	s.looked = now
	return s.lasted, begins
}
