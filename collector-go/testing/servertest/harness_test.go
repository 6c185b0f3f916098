//go:build stores

package servertest

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/influx"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

// network is a store on the network with a place of its own on a real server. It implements storetest.Harness.
type network struct {
	dir      string
	place    string
	labelled bool // the place is a label of all series
	protocol func() (forward.Protocol, error)
	read     func() map[string][]storetest.Point
	want     func([]storetest.Handed) map[string][]storetest.Point
	window   time.Duration
	server   *Server
	store    *forward.Store
}

func (n *network) Open(t require.TestingT) storetest.Store {
	n.drop()
	p, err := n.protocol()
	require.NoError(t, err)
	o := forward.DefaultOptions("test")
	o.MaxSlices = 500 // some requests a hand-over
	n.store, err = forward.Open(filepath.Join(n.dir, "place"), p, o)
	require.NoError(t, err)
	if !n.labelled {
		return n.store
	}
	return placed{n.store, n.place}
}

func (n *network) Settle(require.TestingT) {}

// Kill leaves the store as it is: what it has written to disk is all that the next one has.
func (n *network) Kill(require.TestingT) { n.store = nil }

func (n *network) drop() {
	if n.store != nil {
		_ = n.store.Close(context.Background())
		n.store = nil
	}
}

func (n *network) Read(require.TestingT) map[string][]storetest.Point { return n.read() }

func (n *network) Want(handed []storetest.Handed) map[string][]storetest.Point { return n.want(handed) }

func (n *network) Values() []float64 { return storetest.EveryValue }

func (n *network) Window() time.Duration { return n.window }

// Break stops the server, Mend starts it again on its data.
func (n *network) Break(require.TestingT) { n.server.stop() }
func (n *network) Mend(require.TestingT)  { n.server.Start() }

// placed gives all series a label.
type placed struct {
	storetest.Store
	place string
}

func (p placed) Append(ctx context.Context, upTo uint64, c *slice.Columns) (map[string]int, error) {
	other := *c
	other.Definitions = nil
	for _, d := range c.Definitions {
		d.Series.Labels = labels.NewBuilder(d.Series.Labels).Set(place, p.place).Labels()
		other.Definitions = append(other.Definitions, d)
	}
	return p.Store.Append(ctx, upTo, &other)
}

func at(t testing.TB, s *Server) *network {
	n := &network{dir: directory(t), place: nextPlace(), server: s}
	t.Cleanup(n.drop)
	return n
}

// onPrometheus writes classic histograms to Debian's Prometheus, which takes no native one out of order.
func onPrometheus(t testing.TB, s *Server, window time.Duration) *network {
	n := at(t, s)
	n.labelled, n.want, n.window = true, unsigned, window
	n.read = func() map[string][]storetest.Point { return readPrometheus(s, place, n.place) }
	n.protocol = func() (forward.Protocol, error) {
		return remote.New(remote.Options{Receiver: forward.Receiver{URL: s.URL() + "/api/v1/write"},
			Classic: testing.Short()})
	}
	return n
}

// eventual shows new series some time after they were written.
type eventual struct{ *network }

func (eventual) Within() time.Duration { return 20 * time.Second }

// Values are of one magnitude: VictoriaMetrics keeps the numbers of a block as decimals with one exponent, and drops
// NaN.
func (eventual) Values() []float64 {
	return []float64{0, 1, -1, 0.1, 1e6, 123456.789, -1e-6, math.Inf(1), math.Inf(-1)}
}

func onVictoria(t testing.TB, s *Server) eventual {
	n := at(t, s)
	n.labelled, n.want = true, decimal(storetest.Classic)
	n.read = func() map[string][]storetest.Point { return readVictoria(s, place, n.place) }
	n.protocol = func() (forward.Protocol, error) {
		return remote.New(remote.Options{Receiver: forward.Receiver{URL: s.URL() + "/api/v1/write"}, Classic: true})
	}
	return eventual{n}
}

// onVictoriaByLines writes line protocol, of which VictoriaMetrics makes series that end in the field's name.
func onVictoriaByLines(t testing.TB, s *Server) eventual {
	n := onVictoria(t, s)
	n.protocol = func() (forward.Protocol, error) {
		return influx.New(influx.Options{Receiver: forward.Receiver{URL: s.URL()}, Bucket: "bullet"})
	}
	n.read = func() map[string][]storetest.Point { return fields(readVictoria(s, place, n.place)) }
	n.want = decimal(finite)
	return n
}

// fields gives series the names of their measurements again.
func fields(series map[string][]storetest.Point) map[string][]storetest.Point {
	all := map[string][]storetest.Point{}
	for key, points := range series {
		if before, after, found := strings.Cut(key, `_value", `); found {
			all[before+`", `+after] = append(all[before+`", `+after], points...)
		}
	}
	for key, gaps := range series {
		before, after, found := strings.Cut(key, `_gap", `)
		for _, p := range gaps {
			if measurement := before + `", ` + after; found {
				all[measurement] = append(all[measurement], storetest.Gap(p.EndMs))
			}
		}
	}
	for _, points := range all {
		slices.SortFunc(points, func(a, b storetest.Point) int { return cmp.Compare(a.EndMs, b.EndMs) })
	}
	return all
}

// unsigned has no negative zero: protobuf leaves out what is zero.
func unsigned(handed []storetest.Handed) map[string][]storetest.Point {
	all := storetest.Exact(handed)
	if testing.Short() {
		all = storetest.Classic(handed)
	}
	for _, points := range all {
		for i, p := range points {
			if p.Histogram == "" && math.Float64frombits(p.Bits) == 0 {
				points[i].Bits = 0
			}
		}
	}
	return all
}

// decimal rounds to what VictoriaMetrics keeps.
func decimal(want func([]storetest.Handed) map[string][]storetest.Point) func(
	[]storetest.Handed) map[string][]storetest.Point {
	return func(handed []storetest.Handed) map[string][]storetest.Point {
		all := want(handed)
		for _, points := range all {
			for i, p := range points {
				v := math.Float64frombits(p.Bits)
				if math.IsNaN(v) {
					v = math.Float64frombits(value.StaleNaN) // its export has null for either
				}
				points[i] = storetest.Number(p.EndMs, rounded(v))
			}
		}
		return all
	}
}

// finite leaves out what InfluxDB has no number for.
func finite(handed []storetest.Handed) map[string][]storetest.Point {
	all := storetest.Classic(handed)
	for series, points := range all {
		kept := points[:0]
		for _, p := range points {
			if v := math.Float64frombits(p.Bits); p.Bits == value.StaleNaN || (!math.IsNaN(v) && !math.IsInf(v, 0)) {
				kept = append(kept, p)
			}
		}
		all[series] = kept
	}
	return all
}

func onInfluxDB(t testing.TB, s *Server, version int) *network {
	n := at(t, s)
	createDatabase(s, n.place)
	n.want = finite
	n.read = func() map[string][]storetest.Point { return readInfluxDB(s, n.place) }
	n.protocol = func() (forward.Protocol, error) {
		o := influx.Options{Receiver: forward.Receiver{URL: s.URL()}}
		if version == 1 {
			o.Database = n.place
		} else {
			o.Bucket = n.place + "/autogen"
		}
		return influx.New(o)
	}
	return n
}
