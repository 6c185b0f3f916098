package grid

import (
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/part"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// damageMet remembers the damaged places that readers of parts have met. Each is logged and counted once. Otherwise a
// dashboard that reads the same damaged page every few seconds would fill the log.
type damageMet struct {
	sync.Mutex
	places map[string]bool
}

// maxPlaces limits the number of damaged places that are remembered. Further ones are neither logged nor counted, but
// fsck lists them.
const maxPlaces = 1000

// openPart opens a part. Each of its readers, be it a query, a rule or a merge, reports the damage that it finds.
func (s *Store) openPart(name string) (*part.Part, error) {
	p, err := part.Open(s.fs, name)
	if err == nil {
		p.OnDamage(s.noteDamage)
	}
	return p, err
}

// noteDamage logs and counts a damaged place the first time that a reader meets it. The error itself goes to the
// reader, which turns it into a warning of the query.
func (s *Store) noteDamage(d *run.DamageError) {
	s.met.Lock()
	defer s.met.Unlock()
	place := d.File + ": " + d.What
	if s.met.places[place] || len(s.met.places) >= maxPlaces {
		return
	}
	if s.met.places == nil {
		s.met.places = map[string]bool{}
	}
	s.met.places[place] = true
	s.figures.damaged.WithLabelValues("page").Inc()
	s.log.Error("grid store: a part is damaged and queries lack its slices; run bullet-metrics fsck", "file",
		d.File, "what", d.What, "from", time.UnixMilli(d.FromMs).UTC(), "to", time.UnixMilli(d.ToMs).UTC(), "error", d.Err)
}
