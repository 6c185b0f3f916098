// Package experiment measures a running topology: it finds a record rate that the machine can bear, holds a load step by step, waits
// for the collector's slices and judges each step. What is decided (calibration) is pure; the rest talks to the topology's gateway,
// to the collector's PromQL and to /proc.
package experiment

import (
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
)

// Options are what all steps of a session have in common.
type Options struct {
	// Topology is the topology's name, as in the label of its metrics.
	Topology string
	// Workers is how many workers must report.
	Workers int
	// MostQueries is how many queries at most are held in a step.
	MostQueries int
	// SliceWidth and SliceLateness are the collector's.
	SliceWidth, SliceLateness time.Duration
	// TargetIdle is the ratio of the host that a calibrated record rate is to leave idle at 0 queries.
	TargetIdle float64
	// FirstStepBy is when the first step is to begin: no reading of a calibration is begun that would take longer; the zero time for no
	// such limit.
	FirstStepBy time.Time
	Query       load.Query
	// Wait is how long the workers may take to report, where that is longer than the usual.
	Wait time.Duration
	// Elsewhere says that the workers run on other machines than this.
	Elsewhere bool
}
