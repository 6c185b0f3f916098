// Package experiment measures a running topology: it finds a record rate that the machine can bear, holds more and more queries
// step by step, waits for the collector's last slices and gathers everything into a report.Run. What is decided (plan,
// calibration) is pure; the rest talks to the topology's gateway, to the collector's PromQL and to /proc.
package experiment

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Options say what is measured and how long that may take.
type Options struct {
	// Topology is the topology's name, as in the label of its metrics.
	Topology string
	// Workers is how many workers must report.
	Workers int
	// Ladder is how many queries are held in each step; a bounded run may leave out its end.
	Ladder []int
	// StepLength is how long a step of an unbounded run is, warm-up included.
	StepLength time.Duration
	// Bound is the longest time from the topology's submission to the last figure; 0 for none.
	Bound time.Duration
	// SliceWidth and SliceLateness are the collector's.
	SliceWidth, SliceLateness time.Duration
	// TargetIdle is the ratio of the host that the record rate is to leave idle at 0 queries; RecordsPerSecond, if above 0, is
	// used as it is instead.
	TargetIdle       float64
	RecordsPerSecond float64
	Query            load.Query
	Goals            tuning.Goals
	// Wait is how long the workers may take to report, where that is longer than the usual.
	Wait time.Duration
	// Elsewhere says that the workers run on other machines than this.
	Elsewhere bool
}

// DefaultOptions are those of the demo: the document's queries in four steps of a minute, on a machine left 40% idle.
func DefaultOptions() Options {
	return Options{
		Topology: "bullet", Workers: 2, Ladder: []int{0, 10, 20, 40}, StepLength: time.Minute,
		SliceWidth: 10 * time.Second, SliceLateness: 5 * time.Second, TargetIdle: 0.4,
		Query: load.DefaultRawQuery(), Goals: tuning.DefaultGoals(),
	}
}

// Bounds of what may be asked for.
const (
	minSteps   = 3
	maxQueries = 1000 // the record source has as many probes
	minBound   = time.Minute
)

// Validate tells which option makes no sense.
func (o Options) Validate() error {
	switch {
	case len(o.Ladder) < minSteps:
		return fmt.Errorf("at least %d steps are needed, not %v", minSteps, o.Ladder)
	case slices.Min(o.Ladder) < 0 || slices.Max(o.Ladder) > maxQueries:
		return fmt.Errorf("a step holds 0 to %d queries, not %v", maxQueries, o.Ladder)
	case o.Ladder[0] != 0:
		return fmt.Errorf("the first step is the baseline and has 0 queries, not %d", o.Ladder[0])
	case o.Bound != 0 && o.Bound < minBound:
		return fmt.Errorf("the run cannot be bounded to less than %s: the topology's start alone takes half of that", minBound)
	case o.SliceWidth < time.Second || o.StepLength < 2*o.SliceWidth:
		return errors.New("slices must be at least 1 s wide, and steps at least two slices long")
	case !(o.TargetIdle > 0 && o.TargetIdle < 1) || !(o.RecordsPerSecond >= 0):
		return errors.New("the idle to be left must be between 0 and 1, and the record rate at least 0")
	}
	return errors.Join(o.Query.Validate(), o.Goals.Validate())
}
