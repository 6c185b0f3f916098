package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// Receiver is a store on the network, by Prometheus' remote write 1.0: it counts what comes of the ledger's series.
type Receiver struct {
	server   *http.Server
	listener net.Listener

	mu       sync.Mutex
	down     bool
	requests int
	points   map[string]map[int64]float64 // by series and time
	repeated int64                        // points that came again
	other    int64                        // points that came again with another value
	changed  chan struct{}
}

// NewReceiver listens on loopback.
func NewReceiver() (*Receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Receiver{listener: listener, points: map[string]map[int64]float64{}, changed: make(chan struct{})}
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// URL is where to write.
func (r *Receiver) URL() string { return "http://" + r.listener.Addr().String() + "/api/v1/write" }

// Address is its HOST:PORT.
func (r *Receiver) Address() string { return r.listener.Addr().String() }

// SetDown lets it answer 503 to everything, or no longer.
func (r *Receiver) SetDown(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// Close ends it.
func (r *Receiver) Close() { _ = r.server.Close() }

func (r *Receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := r.take(body); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (r *Receiver) take(body []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.requests++; r.down {
		return errors.New("down")
	}
	text, err := snappy.Decode(nil, body)
	if err != nil {
		return err
	}
	var written prompb.WriteRequest
	if err := written.Unmarshal(text); err != nil {
		return err
	}
	for _, series := range written.Timeseries {
		r.series(&series)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return nil
}

// series keeps points of the ledger's. It is called under the lock.
func (r *Receiver) series(s *prompb.TimeSeries) {
	var key strings.Builder
	ours := false
	for _, l := range s.Labels {
		switch l.Name {
		case "__name__":
			ours = l.Value == storedName
		case "topology", "worker", "task":
			key.WriteString(l.Value + " ")
		}
	}
	if !ours {
		return
	}
	points := r.points[key.String()]
	if points == nil {
		points = map[int64]float64{}
		r.points[key.String()] = points
	}
	for _, p := range s.Samples {
		if p.Value != p.Value {
			continue // the mark of a gap or an end
		}
		before, there := points[p.Timestamp]
		if there {
			r.repeated++
			if before != p.Value {
				r.other++
			}
		}
		points[p.Timestamp] = p.Value
	}
}

// Points is how many it has.
func (r *Receiver) Points() (n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count()
}

func (r *Receiver) count() (n int64) {
	for _, points := range r.points {
		n += int64(len(points))
	}
	return n
}

// Await waits until it has so many.
func (r *Receiver) Await(ctx context.Context, points int64) error {
	for {
		r.mu.Lock()
		has, changed := r.count(), r.changed
		r.mu.Unlock()
		if has >= points {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the store on the network has %d of %d points: %w", has, points, ctx.Err())
		}
	}
}

// Verify holds what it has against what producers had acknowledged: each sample is a slice of its own, and the last
// total is the sum of all.
func (r *Receiver) Verify(l *Ledger) (lost, doubled int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range l.all() {
		p.mu.Lock()
		last := p.batches()
		p.mu.Unlock()
		for series := range p.options.Series {
			points, total := r.points[p.receiverKey(series)], 0.0
			for batch := uint64(1); batch <= last; batch++ {
				total += p.value(batch, series)
				switch got, there := points[p.at(batch).UnixMilli()]; {
				case !there || got < total:
					lost++
				case got > total:
					doubled++
				}
			}
			doubled += max(0, int64(len(points))-int64(last))
		}
	}
	return lost, doubled + r.other
}

// receiverKey is how a receiver calls a producer's series: the labels are sorted by name.
func (p *Producer) receiverKey(series int) string {
	return fmt.Sprintf("%d %s %s:6700 ", series+1, p.options.Topology, p.options.Host)
}
