package disk

import "time"

// Shortage is how long a disk has been short of room. Another program may fill it for a moment: what cannot be undone,
// such as deleting data to make room, waits until the shortage has lasted. Its user looks about once a second.
type Shortage struct {
	lasted time.Duration
	looked time.Time // while the disk is short, when it was looked at last
}

// longestLook is how much time between two looks counts at most. What happened in a longer one is not known: the
// machine was suspended, its clock was set, or nobody looked.
const longestLook = 10 * time.Second

// Look notes whether the disk is short at the moment. It returns for how long it has been without a break, and whether
// a shortage begins.
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
