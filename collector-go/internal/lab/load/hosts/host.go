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

// host is the client side of one load client. It sends orders, reads the answers, and converts their times to this
// host's clock. One goroutine (read) reads the answers; all other methods may be called from any goroutine.
//
// An order with one answer registers a question before it is sent, so that an immediate answer finds its receiver. The
// end of the client is the only error: an order that cannot be sent is noticed by that.
type host struct {
	name       string
	connection *Connection
	cores      int
	// ahead is how far the client's clock is ahead of ours, in whole ms; unsure is the uncertainty of ahead.
	ahead, unsure time.Duration
	roundTrip     time.Duration // of the fastest exchange
	// report receives the outcomes of queries. fail receives the reason if the client ends without an order.
	report func(load.Outcome)
	fail   func(error)

	writing sync.Mutex // guards the writing of orders

	mu      sync.Mutex
	next    int64
	waiting map[question]chan answer
	heard   int // number of lines received
	state   *stateAnswer
	sent    int // number of outcomes received
	closing bool

	ended chan struct{} // closed when the answers have ended
	err   error         // reason of an unordered end; valid once ended is closed
}

// question is an order that has exactly one answer.
type question struct {
	kind questionKind
	id   int64
}

// questionKind separates the numbers of questions, because each kind of answer names only the number.
type questionKind int

const (
	ofBegin questionKind = iota // its number is 0
	ofClock
	ofOpen
	ofCount
)

// newHost returns a host that owns the connection and closes it. It starts nothing.
func newHost(name string, connection *Connection) *host {
	return &host{name: name, connection: connection, waiting: map[question]chan answer{}, ended: make(chan struct{})}
}

// errUnordered means that a client ended without an order and without another reason.
var errUnordered = errors.New("the client ended without an order")

// read reads the client's answers until they end, and determines the reason: an order, a fault of the client, or its
// death. It calls fail if the end was not ordered. A client that ended by order but sent fewer outcomes than it states
// also leaves an error, which pending questions receive.
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
	case err != nil: // the invalid answer is the reason, not the kill that followed it
	case how != nil:
		err = how
	case !closing:
		err = errUnordered
	case last == nil || last.Outcomes != sent:
		err = fmt.Errorf("only %d outcomes of its queries arrived", sent)
	}
	if err != nil {
		h.err = fmt.Errorf("load host %s: the client has ended: %w", h.name, err)
	}
	close(h.ended)
	if h.err != nil && !closing {
		h.fail(h.err)
	}
}

// take handles one answer. An outcome is reported before it is counted, so that a later count of queries in flight
// never misses an unobserved query.
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
		return errors.New("unknown answer: install the same version of bullet-metrics on all hosts")
	}
	return nil
}

// give passes an answer to the goroutine that waits for it. An answer without a waiting goroutine is ignored.
func (h *host) give(q question, a answer) {
	if comes := h.waiting[q]; comes != nil {
		comes <- a
		delete(h.waiting, q)
	}
}

// ours returns an outcome with its times converted to our clock.
func (h *host) ours(o load.Outcome) load.Outcome {
	ahead := h.ahead.Milliseconds()
	o.Host = h.name
	o.IntendedMs -= ahead
	o.SubmittedMs -= ahead
	o.FinishedMs -= ahead
	return o
}

// theirs returns a moment by the client's clock, in ms since the Unix epoch.
func (h *host) theirs(moment time.Time) int64 { return moment.Add(h.ahead).UnixMilli() }

// expect registers a question. It returns its number and a channel that receives the answer once.
func (h *host) expect(kind questionKind) (int64, <-chan answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q, comes := question{kind, h.next}, make(chan answer, 1)
	h.next++
	h.waiting[q] = comes
	return q.id, comes
}

// send sends an order. Orders of several goroutines are written one after the other. A write failure returns no error,
// because the client has then ended, which read reports with the reason.
func (h *host) send(o order) {
	line, err := json.Marshal(o)
	if err != nil {
		panic(err) // impossible, because an order has only numbers and text
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	_, _ = h.connection.Orders.Write(append(line, '\n'))
}

// await waits for an answer, the client's end, or the end of ctx, whichever comes first. An answer that came before
// the client's end counts.
func (h *host) await(ctx context.Context, comes <-chan answer) (answer, error) {
	select {
	case a := <-comes:
		return a, nil
	case <-h.ended:
		select {
		case a := <-comes: // the answer came before the end
			return a, nil
		default:
		}
		if h.err != nil {
			return answer{}, h.err
		}
		return answer{}, fmt.Errorf("load host %s: the client has ended", h.name)
	case <-ctx.Done():
		return answer{}, fmt.Errorf("load host %s: no answer: %w", h.name, context.Cause(ctx))
	}
}

// begin sends the begin order and compares the client's clock with this host's. Both programs must have the same
// version of the protocol.
func (h *host) begin(ctx context.Context, b beginOrder) error {
	_, comes := h.expect(ofBegin) // its number is 0
	h.send(order{Begin: &b})
	ready, err := h.await(ctx, comes)
	if err != nil {
		return err
	}
	if ready.Ready.Protocol != protocol {
		return fmt.Errorf("load host %s: protocol version %d, but this program has %d: install the same version of bullet-metrics on all hosts",
			h.name, ready.Ready.Protocol, protocol)
	}
	h.cores = ready.Ready.Cores
	return h.compareClocks(ctx)
}

// Parameters of the clock comparison.
const (
	exchanges = 8
	// mostAhead bounds the difference between clocks. Answers are checked against the records that were made from a
	// second after the query's submission on, by the client's clock.
	mostAhead = 500 * time.Millisecond
)

// compareClocks measures how far the client's clock is ahead of ours, as NTP does. The client read its clock at some
// time within an exchange, so half of the exchange's time is the uncertainty; the fastest of several exchanges is
// used. Clocks that are certainly too far apart are an error, because no answer could be checked against the records
// that were made for it.
func (h *host) compareClocks(ctx context.Context) error {
	for i := range exchanges {
		id, comes := h.expect(ofClock)
		sent := time.Now()
		h.send(order{Clock: &numbered{id}})
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
		return fmt.Errorf("load host %s: its clock is %s %s this host's (± %s), above the limit of %s: synchronize both with NTP",
			h.name, h.ahead.Abs(), word, h.unsure.Round(time.Millisecond), mostAhead)
	}
	return nil
}

// usage returns the CPU that the client had used by its last state, and its queries in flight then. The state is at
// most statePeriod old.
func (h *host) usage() (load.Usage, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == nil {
		return load.Usage{Host: h.name, Cores: h.cores}, 0
	}
	return load.Usage{Host: h.name, Cores: h.cores, At: time.UnixMilli(h.state.TimeMs).Add(-h.ahead),
		CPU: time.Duration(h.state.CPUUs) * time.Microsecond}, h.state.InFlight
}

// lines returns the number of lines received.
func (h *host) lines() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.heard
}

// closeLimit bounds the time from the end order to the end of a client.
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
