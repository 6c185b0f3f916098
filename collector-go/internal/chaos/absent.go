package chaos

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
)

// receiver is a store on the network, as far as a ledger needs one: it takes remote write and remembers every sample of the ledger's, each as often
// as it came.
type receiver struct {
	address string
	server  *http.Server

	mu       sync.Mutex
	came     map[string]map[string][]point // by producer, then by task
	count    int
	failures []error
}

// newReceiver returns one that is not there yet: its address is nobody's until open.
func newReceiver() (*receiver, error) {
	address, err := freeAddress()
	return &receiver{address: address, came: map[string]map[string][]point{}}, err
}

func (r *receiver) url() string { return "http://" + r.address + "/write" }

func (r *receiver) open() error {
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		return err
	}
	r.server = &http.Server{Handler: http.HandlerFunc(r.take), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }()
	return nil
}

func (r *receiver) close() {
	if r.server != nil {
		_ = r.server.Close()
	}
}

func (r *receiver) take(_ http.ResponseWriter, request *http.Request) {
	write, err := readWrite(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failures = append(r.failures, err)
		return
	}
	b := labels.NewScratchBuilder(8)
	for _, series := range write.Timeseries {
		l := series.ToLabels(&b, nil)
		if l.Get("__name__") != storedName {
			continue
		}
		producer := producerName(l.Get("topology"), strings.TrimSuffix(l.Get("worker"), ":6700"))
		if r.came[producer] == nil {
			r.came[producer] = map[string][]point{}
		}
		for _, sample := range series.Samples {
			if sample.Value == sample.Value { // no marker of a gap
				r.came[producer][l.Get("task")] = append(r.came[producer][l.Get("task")], point{sample.Timestamp, sample.Value})
				r.count++
			}
		}
	}
}

func readWrite(body io.Reader) (write prompb.WriteRequest, err error) {
	packed, err := io.ReadAll(body)
	if err != nil {
		return write, err
	}
	raw, err := snappy.Decode(nil, packed)
	if err != nil {
		return write, fmt.Errorf("remote write: %w", err)
	}
	return write, write.Unmarshal(raw)
}

func producerName(topology, host string) string { return topology + "/" + host }

// samples is how many came, those that came twice twice.
func (r *receiver) samples() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// newest is the time of the newest that came of a producer.
func (r *receiver) newest(p *Producer) (ms int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, points := range r.came[producerName(p.options.Topology, p.options.Host)] {
		ms = max(ms, points[len(points)-1].ms)
	}
	return ms
}

// verify holds what came against a ledger whose producers have finished.
func (r *receiver) verify(l *Ledger) (o Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range l.all() {
		v := p.verification()
		o.Acknowledged += int64(v.last) * int64(p.options.Series)
		var all []answered
		for task, points := range r.came[producerName(p.options.Topology, p.options.Host)] {
			points = slices.Clone(points)
			slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.ms, b.ms) })
			all = append(all, answered{map[string]string{"task": task}, points})
		}
		if err := v.take(all); err != nil {
			return o, err
		}
		v.end()
		o.Lost, o.Doubled = o.Lost+v.lost, o.Doubled+v.doubled
	}
	for _, err := range r.failures {
		o.Broken = append(o.Broken, err.Error())
	}
	return o, nil
}
