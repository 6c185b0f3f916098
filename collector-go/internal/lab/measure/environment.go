package measure

import (
	"runtime"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Environment holds facts about a topology's surroundings that the collector cannot know, such as the capacity of the
// query endpoint and the number of Kafka partitions. They are part of the evidence for the limiter of a step.
type Environment struct {
	// Endpoint is tuning.EndpointDRPC or tuning.EndpointGateway. EndpointCapacity is the maximum number of concurrent
	// queries it accepts, 0 if unknown.
	Endpoint         string
	EndpointCapacity int
	// Partitions is the number of partitions of the Kafka topic that the spouts read. It is 0 if unknown or if there
	// is no topic.
	Partitions int
	// HostOfRun states that the observed machine is the one that runs "tune run", and that no workers run on it.
	HostOfRun bool
}

// Names of the processes whose share of the host's CPU is evidence.
const (
	ClientProcess    = "load client"
	RunProcess       = "tune run" // used if load clients on other hosts run the queries
	CollectorProcess = "collector"
)

// addTo adds the facts to the evidence. Unknown facts stay unknown.
func (a Environment) addTo(e *tuning.Evidence) {
	e.Queries.Endpoint, e.Host.OfRun = a.Endpoint, a.HostOfRun
	if a.EndpointCapacity > 0 {
		e.Queries.EndpointCapacity = tuning.Figure(a.EndpointCapacity)
	}
	if a.Partitions > 0 {
		e.Source.Partitions = tuning.Figure(a.Partitions)
	}
}

// addStep adds what the run itself observed during the step. The CPU shares of the load client and of the collector
// also become evidence fields of their own.
func addStep(e *tuning.Evidence, step runstore.Step, minIdle float64) {
	e.Queries.Submitted = tuning.Figure(step.Queries)
	for i := range e.Queries.BySlice {
		e.Queries.BySlice[i].Submitted = tuning.Figure(step.Queries)
	}
	c := step.Clients
	e.Queries.Returned, e.Queries.Failed, e.Queries.Refused = tuning.Figure(c.Returned), tuning.Figure(c.Failed),
		tuning.Figure(c.Refused)
	e.Client.LatenessP99Ms = c.LatenessP99Ms
	for _, h := range c.Hosts {
		e.Client.Hosts = append(e.Client.Hosts, tuning.ClientHost{Host: h.Host, LatenessP99Ms: h.LatenessP99Ms,
			CPUCores: h.CPUCores, CPULimitCores: h.CPULimitCores})
	}
	e.Host.IdleRatio, e.Host.MinIdleRatio, e.Host.Cores = step.HostIdle, tuning.Figure(minIdle),
		tuning.Figure(runtime.NumCPU())
	for _, s := range step.Shares {
		e.Host.Shares = append(e.Host.Shares, tuning.ProcessShare{Process: s.Process, Ratio: s.Ratio})
		switch s.Process {
		case ClientProcess:
			e.Client.CPUCores, e.Client.CPULimitCores = s.Ratio*e.Host.Cores, tuning.Figure(runtime.GOMAXPROCS(0))
		case CollectorProcess:
			e.Collector.ShareOfHost = s.Ratio
		}
	}
	// for a Kafka source the gateway's status describes the producer, not the topology
	if !e.Source.LagEnd.Known() && e.Source.Kind != tuning.SourceKafka {
		e.Source.LagEnd = tuning.Figure(step.RecordsLag)
	}
}
