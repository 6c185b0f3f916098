package checkpoint

import (
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// TransferState is the exported state of a topology after the batches of an epoch up to Sequence.
type TransferState struct {
	Epoch    journal.Epoch
	Sequence uint64
	Data     []byte // nil if the state was too large
}

// Transfers holds the newest exported state of each topology between the feed, which exports it, and ingest, which
// sends it to the topology's sender. The sender can take it to another collector. A topology then moves between
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

// Put replaces the state of a topology and notifies its watchers.
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

// Watch returns a channel that receives a token when the state of a topology changes. If there already is a state, it
// contains a token from the start. The caller must call stop.
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

// Newest returns the newest state of a topology, or false if there is none.
func (d *Transfers) Newest(topology string) (TransferState, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.states[topology]
	if p == nil {
		return TransferState{}, false
	}
	return p.state, p.present
}
