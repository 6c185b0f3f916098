package ingest

import (
	"fmt"
	"time"
)

// shareOfRoom is how many times as many series as are still free a topology may have. So one that stands alone may take
// two thirds of what the journal holds, two may take two fifths each, and some of it is free for one that comes,
// whatever the others do.
const shareOfRoom = 2

// room returns why a topology may have no further series; nil where it may. Idle series are forgotten before a topology
// is refused. It is called under defining.
func (s *Server) room(topology string) error {
	of, err := s.crowded(topology)
	if err != nil && s.idle.due(of, s.o.Now()) && s.journal.ForgetIdle(of) > 0 {
		_, err = s.crowded(topology)
	}
	return err
}

// crowded returns whose idle series are in the way, "" for everybody's, and why there is no room.
func (s *Server) crowded(topology string) (of string, err error) {
	has := s.journal.SeriesOf(topology)
	if has >= s.o.MaxTopologySeries {
		return topology, fmt.Errorf("the topology has its %d series", s.o.MaxTopologySeries)
	}
	if free := s.journal.SeriesRoom(); has >= shareOfRoom*free {
		return "", fmt.Errorf("the topology has %d series, and only %d are free for all", has, free)
	}
	return "", nil
}

// mayDefine is how many further series a topology may have at once: as often as crowded would see room. It is called
// under defining.
func (s *Server) mayDefine(topology string) int {
	has, free := s.journal.SeriesOf(topology), s.journal.SeriesRoom()
	return max(0, min(s.o.MaxTopologySeries-has, (shareOfRoom*free-has+shareOfRoom)/(1+shareOfRoom)))
}

// lookEvery is how often idle series are looked for at most, of one topology.
const lookEvery = time.Minute

// maxLooks bounds the topologies of which the last look is known.
const maxLooks = 1024

// looks are when idle series were looked for last.
type looks map[string]time.Time

func (l looks) due(topology string, now time.Time) bool {
	if last, looked := l[topology]; looked && now.Sub(last) < lookEvery && !now.Before(last) {
		return false
	}
	if len(l) >= maxLooks {
		clear(l)
	}
	l[topology] = now
	return true
}
