package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// host is one load client as Hosts sees it: it sends the client orders, reads its answers, and converts their times to
// this host's clock. One goroutine (read) takes the answers; all other methods may be called from any goroutine.
//
// Orders that are answered once register a question before they are sent, so that an answer that comes at once finds
// its receiver. The end of the client is the only error: an order that cannot be sent is noticed by that.
type host struct {
	name       string
	connection *Connection
	cores      int
	// ahead is how far its clock is ahead of ours, whole ms; unsure how far that may be off.
	ahead, unsure time.Duration
	roundTrip     time.Duration // of the fastest exchange
	// report receives what becomes of queries, fail why the client has ended before it was to.
	report func(load.Outcome)
	fail   func(error)

	writing sync.Mutex // of orders

	mu      sync.Mutex
	next    int64
	waiting map[question]chan answer
	heard   int // lines
	state   *stateAnswer
	sent    int // outcomes
	closing bool

	ended chan struct{} // closed once its answers have
	err   error         // why, where it was not by order; valid once ended is closed
}

// question is an order that is answered once.
type question struct {
	kind questionKind
	id   int64
}

// questionKind separates the numbers of questions, because each kind of answer names its question alone.
type questionKind int

const (
	ofBegin questionKind = iota // whose number is 0
	ofClock
	ofOpen
	ofCount
)

// newHost takes a connection over: the host ends it, and nobody else may use it. It starts nothing.
func newHost(name string, connection *Connection) *host {
	return &host{name: name, connection: connection, waiting: map[question]chan answer{}, ended: make(chan struct{})}
}

// errUnordered is the end of a client that nobody ordered, without another reason.
var errUnordered = errors.New("it ended although nobody ordered it to")

// read takes the client's answers until they end, and decides why they did: by order, by a fault of the client, or by
// its death. Where nobody ordered the end it calls fail. A client that ended by order and sent fewer outcomes than it
// states leaves an error too, which those who still wait for an answer receive.
func (h *host) read() {
	var last *endAnswer
	err := eachLine(h.connection.Answers, func(a answer) error {
		if a.Error != "" {
			return errors.New(a.Error)
		}
		if a.End != nil {
			last = a.End
		}
		return h.take(a)
	})
	h.mu.Lock()
	closing, sent := h.closing, h.sent
	h.mu.Unlock()
	if err != nil {
		h.connection.Kill()
	}
	how := h.connection.Wait()
	switch {
	case err != nil: // what it answered is the reason, not that it was killed for that
	case how != nil:
		err = how
	case !closing:
		err = errUnordered
	case last == nil || last.Outcomes != sent:
		err = fmt.Errorf("%d outcomes of its queries came, and not all", sent)
	}
	if err != nil {
		h.err = fmt.Errorf("load host %s: its client has ended: %w", h.name, err)
	}
	close(h.ended)
	if h.err != nil && !closing {
		h.fail(h.err)
	}
}

// take handles one answer. An outcome is reported before it is counted, so that a later count of queries in flight
// never misses one that nobody has observed.
func (h *host) take(a answer) error {
	if a.Outcome != nil {
		h.report(h.ours(*a.Outcome))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard++
	switch {
	case a.Outcome != nil:
		h.sent++
	case a.State != nil:
		h.state = a.State
	case a.Ready != nil:
		h.give(question{kind: ofBegin}, a)
	case a.Clock != nil:
		h.give(question{ofClock, a.Clock.ID}, a)
	case a.Opened != nil:
		h.give(question{ofOpen, a.Opened.ID}, a)
	case a.Count != nil:
		h.give(question{ofCount, a.Count.ID}, a)
	case a.End == nil:
		return errors.New("an answer is none that this program knows: install the same bullet-metrics on all hosts")
	}
	return nil
}

// give hands an answer to whoever waits for it. An answer to no question is ignored: its caller gave up waiting.
func (h *host) give(q question, a answer) {
	if comes := h.waiting[q]; comes != nil {
		comes <- a
		delete(h.waiting, q)
	}
}

// ours is an outcome with its times by our clock.
func (h *host) ours(o load.Outcome) load.Outcome {
	ahead := h.ahead.Milliseconds()
	o.Host = h.name
	o.IntendedMs -= ahead
	o.SubmittedMs -= ahead
	o.FinishedMs -= ahead
	return o
}

// theirs is a moment by the client's clock, ms since the Unix epoch.
func (h *host) theirs(moment time.Time) int64 { return moment.Add(h.ahead).UnixMilli() }

// expect returns a number for a question, and where its answer comes, once.
func (h *host) expect(kind questionKind) (int64, <-chan answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q, comes := question{kind, h.next}, make(chan answer, 1)
	h.next++
	h.waiting[q] = comes
	return q.id, comes
}

// send gives an order. Orders of several goroutines are written one after the other. A failure to write has no error of
// its own: the client has ended then, which read reports with the reason.
func (h *host) send(o order) {
	line, err := json.Marshal(o)
	if err != nil {
		panic(err) // it has numbers and text alone
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	_, _ = h.connection.Orders.Write(append(line, '\n'))
}

// await waits for an answer, for the client's end, or for ctx, whichever is first. An answer that came before the end
// counts.
func (h *host) await(ctx context.Context, comes <-chan answer) (answer, error) {
	select {
	case a := <-comes:
		return a, nil
	case <-h.ended:
		select {
		case a := <-comes: // it answered before its end
			return a, nil
		default:
		}
		if h.err != nil {
			return answer{}, h.err
		}
		return answer{}, fmt.Errorf("load host %s: its client has ended", h.name)
	case <-ctx.Done():
		return answer{}, fmt.Errorf("load host %s: it does not answer: %w", h.name, context.Cause(ctx))
	}
}

// begin has the client begin, and compares its clock with this host's. Both programs must have the same version of the
// protocol.
func (h *host) begin(ctx context.Context, b beginOrder) error {
	_, comes := h.expect(ofBegin) // the first, 0
	h.send(order{Begin: &b})
	ready, err := h.await(ctx, comes)
	if err != nil {
		return err
	}
	if ready.Ready.Protocol != protocol {
		return fmt.Errorf("load host %s: its program has version %d of the protocol, this one %d: install the same bullet-metrics on all hosts",
			h.name, ready.Ready.Protocol, protocol)
	}
	h.cores = ready.Ready.Cores
	return h.compareClocks(ctx)
}

// Bounds of the clocks' comparison.
const (
	exchanges = 8
	// mostAhead is how far clocks may differ: answers are held to the records that were made from a second after their
	// query's submission on, by the client's clock.
	mostAhead = 500 * time.Millisecond
)

// compareClocks finds how far the client's clock is ahead of ours, as NTP does. The client read its clock at some time
// within an exchange, so half of the exchange's time is the uncertainty, and of several exchanges the fastest is used.
// Clocks that are certainly too far apart are an error, since then no answer could be held to the records that were
// made for it.
func (h *host) compareClocks(ctx context.Context) error {
	for i := range exchanges {
		id, comes := h.expect(ofClock)
		sent := time.Now()
		h.send(order{Clock: &clockOrder{id}})
		a, err := h.await(ctx, comes)
		if err != nil {
			return err
		}
		took := time.Since(sent)
		if i == 0 || took < h.roundTrip {
			h.roundTrip, h.unsure = took, took/2
			h.ahead = time.UnixMicro(a.Clock.TimeUs).Sub(sent.Add(took / 2)).Round(time.Millisecond)
		}
	}
	if off := h.ahead.Abs() - h.unsure; off > mostAhead {
		word := "ahead of"
		if h.ahead < 0 {
			word = "behind"
		}
		return fmt.Errorf("load host %s: its clock is %s %s this host's (to ± %s): by more than %s no answer can be judged; set both by NTP",
			h.name, h.ahead.Abs(), word, h.unsure.Round(time.Millisecond), mostAhead)
	}
	return nil
}

// usage is what the client had used by its last state, and its queries in flight then. It is at most statePeriod old.
func (h *host) usage() (load.Usage, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == nil {
		return load.Usage{Host: h.name, Cores: h.cores}, 0
	}
	return load.Usage{Host: h.name, Cores: h.cores, At: time.UnixMilli(h.state.TimeMs).Add(-h.ahead),
		CPU: time.Duration(h.state.CPUUs) * time.Microsecond}, h.state.InFlight
}

// lines is how many lines came.
func (h *host) lines() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard
}

// closeLimit is how long a client may take to its end once it is ordered.
const closeLimit = 5 * time.Second

// close orders the client to end and waits until it has. A client that does not end within closeLimit is killed.
func (h *host) close() {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	kill := time.AfterFunc(closeLimit, h.connection.Kill)
	defer kill.Stop()
	h.send(order{End: &struct{}{}})
	_ = h.connection.Orders.Close()
	<-h.ended
}
