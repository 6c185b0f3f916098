package checkpoint

import (
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// TransferState is what a collector knows of a topology once it has taken the batches of an epoch up to a sequence.
type TransferState struct {
	Epoch    journal.Epoch
	Sequence uint64
	Data     []byte // nil where it was too large
}

// Transfers holds the newest exported state of each topology between the feed, which exports it, and ingest, which
// gives it to the topology's sender. The sender takes it to another collector, so that a topology can move between
// collectors without losing its open slices (docs/decisions/0018). Transfers never decodes a state. It is safe for
// concurrent use.
type Transfers struct {
	mu     sync.Mutex
	states map[string]*topologyState
}

type topologyState struct {
	state   TransferState
	present bool
	watches map[chan struct{}]bool
}

// NewTransfers returns an empty set of states.
func NewTransfers() *Transfers { return &Transfers{states: map[string]*topologyState{}} }

func (d *Transfers) topology(topology string) *topologyState {
	p := d.states[topology]
	if p == nil {
		p = &topologyState{watches: map[chan struct{}]bool{}}
		d.states[topology] = p
	}
	return p
}

// Put replaces a topology's state and wakes those who watch it.
func (d *Transfers) Put(topology string, s TransferState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.topology(topology)
	p.state, p.present = s, true
	for changed := range p.watches {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// Keep drops the states of topologies for which held is false.
func (d *Transfers) Keep(held func(topology string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for topology, p := range d.states {
		if p.present && !held(topology) {
			p.state, p.present = TransferState{}, false
			d.dropIfUnused(topology, p)
		}
	}
}

// Watch returns a channel that holds a token when there is a newer state of a topology, or one at all, until stop is
// called.
func (d *Transfers) Watch(topology string) (changed <-chan struct{}, stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{}, 1)
	p := d.topology(topology)
	p.watches[c] = true
	if p.present {
		c <- struct{}{}
	}
	return c, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(p.watches, c)
		d.dropIfUnused(topology, p)
	}
}

func (d *Transfers) dropIfUnused(topology string, p *topologyState) {
	if len(p.watches) == 0 && !p.present && d.states[topology] == p {
		delete(d.states, topology)
	}
}

// Newest is a topology's state; false where there is none.
func (d *Transfers) Newest(topology string) (TransferState, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.states[topology]
	if p == nil {
		return TransferState{}, false
	}
	return p.state, p.present
}
