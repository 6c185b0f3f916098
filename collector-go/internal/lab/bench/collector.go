// Package bench measures the throughput of a collector (bullet-metrics bench). It generates rows from a seed, sends
// them through many clients, and compares the answers of the collector's queries with what was sent. A collector that
// is fast and wrong therefore fails the benchmark.
//
// The package owns the generated rows, the clients, and the measurement of the server process. It must not know the
// limits by which a figure is judged. It runs the collector as a separate process and reaches it over gRPC and HTTP
// only. Start reading at ingest.go for the sending side and Written.Check in this file for the comparison.
package bench

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
)

// StartCollector starts a collector on a directory, listening on loopback, with limits that allow a benchmark's load.
func StartCollector(ctx context.Context, program, dir string, more ...string) (*Process, Target, error) {
	web, err := FreeAddress()
	if err != nil {
		return nil, Target{}, err
	}
	wire, err := FreeAddress()
	if err != nil {
		return nil, Target{}, err
	}
	arguments := append([]string{"serve", "--data-dir", filepath.Join(dir, "data"), "--grpc-listen", wire,
		"--http-listen", web, "--limits-streams", "2000", "--shutdown-timeout", "5m", "--rules-builtin=false"}, more...)
	p, err := Start(ctx, program, arguments, "http://"+web, "/-/ready", filepath.Join(dir, "log"))
	return p, Target{Address: wire}, err
}

// StoredName returns the name under which a collector stores a field. The catalog does not know the field, so it is
// stored as a metric of Storm.
func StoredName(metric int) string { return "storm_" + strings.ReplaceAll(Field(metric), ".", "_") }

// Written describes what a load wrote into whole slices, for comparison with queries.
type Written struct {
	Topology       string
	Hosts, Metrics int
	StartMs        int64
	Steps          int
	StepMs         int64
	WidthMs        int64
	// Sums are the sums of each metric's values; nil if sums are not compared.
	Sums []float64
	// Inexact states that the values are not whole numbers, so that a sum depends on the order of the additions.
	Inexact bool
}

// perSlice returns the number of steps in a slice.
func (w Written) perSlice() int { return int(max(1, w.WidthMs/w.StepMs)) }

// Check compares the collector's number of slices and, if known, the sums with what was written. A sum of whole
// numbers is exact, although a slice of several samples holds their mean.
func (w Written) Check(ctx context.Context, v *Server) error {
	slices := w.Steps / w.perSlice()
	if slices < 1 {
		return fmt.Errorf("%d steps do not fill a slice of %d", w.Steps, w.perSlice())
	}
	first := (w.StartMs + w.WidthMs - 1) / w.WidthMs * w.WidthMs
	last := first + int64(slices-1)*w.WidthMs
	for m := range w.Metrics {
		if err := w.checkMetric(ctx, v, m, slices, first, last); err != nil {
			return err
		}
	}
	return nil
}

func (w Written) checkMetric(ctx context.Context, v *Server, metric, slices int, first, last int64) error {
	name := StoredName(metric)
	answer := func(function string) (float64, error) {
		return v.Query(ctx, fmt.Sprintf("sum(%s(%s{topology=%q}[%dms]))", function, name, w.Topology, last-first+1),
			time.UnixMilli(last))
	}
	got, err := answer("count_over_time")
	if err != nil {
		return err
	}
	if want := w.Hosts * slices; int(got) != want {
		return fmt.Errorf("queries return %d slices of %s, but %d were written", int(got), name, want)
	}
	if w.Sums == nil {
		return nil
	}
	mean, err := answer("sum_over_time")
	if err != nil {
		return err
	}
	got, want := mean*float64(w.perSlice()), w.Sums[metric]
	if !w.Inexact {
		got = math.Round(got)
	}
	if !Same(got, want, w.Inexact) {
		return fmt.Errorf("the sum of %s is %.15g, but %.15g was written", name, got, want)
	}
	return nil
}

// rounding is the allowed relative difference between two sums of the same numbers that were added in different
// orders.
const rounding = 1e-9

// Same reports whether two sums of the same values are equal: exactly, or up to rounding if inexact is set.
func Same(got, want float64, inexact bool) bool {
	return got == want || inexact && math.Abs(got-want) <= rounding*math.Abs(want)
}
