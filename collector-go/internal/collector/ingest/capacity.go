package ingest

import (
	"fmt"
	"time"
)

// shareOfCapacity limits a topology to this many times the number of free series. One topology alone may use two thirds
// of the journal's series, and two may use two fifths each. Some series therefore stay free for a new topology.
const shareOfCapacity = 2

// ensureCapacity returns why a topology may not define a further series, or nil if it may. It forgets idle series
// before it refuses a topology. The caller must hold defining.
func (s *Server) ensureCapacity(topology string) error {
	of, err := s.checkCapacity(topology)
	if err != nil && s.idle.due(of, s.o.Now()) && s.journal.ForgetIdle(of) > 0 {
		_, err = s.checkCapacity(topology)
	}
	return err
}

// checkCapacity returns why a topology may not define a further series. of is the topology whose idle series could be
// forgotten to change that; "" means all topologies.
func (s *Server) checkCapacity(topology string) (of string, err error) {
	has := s.journal.SeriesOf(topology)
	if has >= s.o.MaxTopologySeries {
		return topology, fmt.Errorf("the topology has reached its limit of %d series", s.o.MaxTopologySeries)
	}
	if free := s.journal.FreeSeries(); has >= shareOfCapacity*free {
		return "", fmt.Errorf("the topology has %d series, and all topologies together may define only %d more", has, free)
	}
	return "", nil
}

// mayDefine returns how many further series a topology may define now. It equals the number of times that checkCapacity
// would return no error. The caller must hold defining.
func (s *Server) mayDefine(topology string) int {
	has, free := s.journal.SeriesOf(topology), s.journal.FreeSeries()
	return max(0, min(s.o.MaxTopologySeries-has, (shareOfCapacity*free-has+shareOfCapacity)/(1+shareOfCapacity)))
}

// lookEvery is the least time between two searches for idle series of one topology.
const lookEvery = time.Minute

// maxLooks bounds the topologies whose last search is remembered.
const maxLooks = 1024

// looks records when idle series were last searched, by topology. A search scans the whole dictionary of the journal,
// so it must not happen for each refused series.
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
