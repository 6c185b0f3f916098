// Package handover is where a feed lays down what it knows of a topology, for the door to hand it to the topology's
// sender, who carries it to another collector (docs/decisions/0018). It never looks into it.
package handover

import (
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// State is what a collector knows of a topology once it has taken the batches of an epoch up to a sequence.
type State struct {
	Epoch    journal.Epoch
	Sequence uint64
	Data     []byte // nil where it was too large
}

// Desk has the newest state of each topology. It is safe for concurrent use.
type Desk struct {
	mu     sync.Mutex
	places map[string]*place
}

type place struct {
	state   State
	laid    bool
	watches map[chan struct{}]bool
}

// New returns a desk on which nothing lies.
func New() *Desk { return &Desk{places: map[string]*place{}} }

func (d *Desk) place(topology string) *place {
	p := d.places[topology]
	if p == nil {
		p = &place{watches: map[chan struct{}]bool{}}
		d.places[topology] = p
	}
	return p
}

// Put lays down a topology's newest state.
func (d *Desk) Put(topology string, s State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.place(topology)
	p.state, p.laid = s, true
	for changed := range p.watches {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// Keep takes away the states of topologies that nobody carries any more.
func (d *Desk) Keep(carried func(topology string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for topology, p := range d.places {
		if p.laid && !carried(topology) {
			p.state, p.laid = State{}, false
			d.tidy(topology, p)
		}
	}
}

// Watch returns a channel that holds a token when there is a newer state of a topology, or one at all, until stop is
// called.
func (d *Desk) Watch(topology string) (changed <-chan struct{}, stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{}, 1)
	p := d.place(topology)
	p.watches[c] = true
	if p.laid {
		c <- struct{}{}
	}
	return c, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(p.watches, c)
		d.tidy(topology, p)
	}
}

func (d *Desk) tidy(topology string, p *place) {
	if len(p.watches) == 0 && !p.laid && d.places[topology] == p {
		delete(d.places, topology)
	}
}

// Newest is a topology's state; false where there is none.
func (d *Desk) Newest(topology string) (State, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.places[topology]
	if p == nil {
		return State{}, false
	}
	return p.state, p.laid
}
