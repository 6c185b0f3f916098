package experiment

import (
	"context"
	"runtime"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Around is what is known of what is around a topology, and not by the collector.
type Around struct {
	// Endpoint is tuning.EndpointDRPC or tuning.EndpointGateway; EndpointCapacity how many queries it lets through at the same time, 0
	// where that is not known.
	Endpoint         string
	EndpointCapacity int
	// Partitions are those of the Kafka topic that the spouts read, 0 where that is not known or there is none.
	Partitions int
	// HostOfClient says that the machine whose processors are looked at is the load client's, and none that workers run on.
	HostOfClient bool
}

// Names of processes whose share of the host is evidence.
const (
	ClientProcess    = "load client"
	CollectorProcess = "collector"
)

// Explain adds to a run what its topology asks of the scheduler, and to each of its steps the evidence of what limited it. An error
// says that the collector could not be asked; the run is then as it was, but for the steps that were explained.
func Explain(ctx context.Context, collector Slices, facts Facts, around Around, run *report.Run) error {
	t, err := facts.Topology(ctx, run.Topology)
	if err != nil {
		return err
	}
	run.Asked, run.Placement = t.Asks(around.Partitions), t.Placement()
	workers := workersOf(run)
	for i := range run.Steps {
		step := &run.Steps[i]
		e, err := GatherEvidence(ctx, collector, t, Stretch{time.UnixMilli(step.MeasuredFromMs), time.UnixMilli(step.EndMs), milliseconds(run.StoredSliceMs), workers})
		if err != nil {
			return err
		}
		around.addTo(&e)
		addStep(&e, *step, run.Goals.MinHostIdle)
		step.Evidence = &e
		calculator, _ := collector.(Calculator) // who only has slices has no percentiles
		if err := detail(ctx, collector, calculator, run.Topology, step); err != nil {
			return err
		}
	}
	return nil
}

func (a Around) addTo(e *tuning.Evidence) {
	e.Queries.Endpoint, e.Host.OfClient = a.Endpoint, a.HostOfClient
	if a.EndpointCapacity > 0 {
		e.Queries.EndpointCapacity = tuning.Figure(a.EndpointCapacity)
	}
	if a.Partitions > 0 {
		e.Source.Partitions = tuning.Figure(a.Partitions)
	}
}

// addStep adds what the run itself saw of the step.
func addStep(e *tuning.Evidence, step report.Step, minIdle float64) {
	e.Queries.Submitted = tuning.Figure(step.Queries)
	for i := range e.Queries.BySlice {
		e.Queries.BySlice[i].Submitted = tuning.Figure(step.Queries)
	}
	c := step.Clients
	e.Queries.Returned, e.Queries.Failed, e.Queries.Refused = tuning.Figure(c.Returned), tuning.Figure(c.Failed), tuning.Figure(c.Refused)
	e.Client.LatenessP99Ms = c.LatenessP99Ms
	e.Host.IdleRatio, e.Host.MinIdleRatio, e.Host.Cores = step.HostIdle, tuning.Figure(minIdle), tuning.Figure(runtime.NumCPU())
	for _, s := range step.Shares {
		e.Host.Shares = append(e.Host.Shares, tuning.ProcessShare{Process: s.Process, Ratio: s.Ratio})
		switch s.Process {
		case ClientProcess:
			e.Client.CPUCores, e.Client.CPULimitCores = s.Ratio*e.Host.Cores, tuning.Figure(runtime.GOMAXPROCS(0))
		case CollectorProcess:
			e.Collector.ShareOfHost = s.Ratio
		}
	}
	if !e.Source.LagEnd.Known() && e.Source.Kind != tuning.SourceKafka { // of Kafka the gateway's status is the producer's
		e.Source.LagEnd = tuning.Figure(step.RecordsLag)
	}
}
