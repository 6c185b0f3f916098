package measure

import (
	"runtime"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Environment holds facts about the surroundings of a topology that the collector cannot know, such as the capacity of
// the query endpoint and the number of Kafka partitions. They become part of the evidence for what limited a step.
type Environment struct {
	// Endpoint is tuning.EndpointDRPC or tuning.EndpointGateway; EndpointCapacity how many queries it lets through at
	// the same time, 0 where that is not known.
	Endpoint         string
	EndpointCapacity int
	// Partitions are those of the Kafka topic that the spouts read, 0 where that is not known or there is none.
	Partitions int
	// HostOfRun states that the machine whose processors are looked at is tune run's, and none that workers
	// run on.
	HostOfRun bool
}

// Names of processes whose share of the host is evidence.
const (
	ClientProcess    = "load client"
	RunProcess       = "tune run" // where load clients on other hosts ask the queries
	CollectorProcess = "collector"
)

// addTo adds the facts to evidence; what is not known stays unknown.
func (a Environment) addTo(e *tuning.Evidence) {
	e.Queries.Endpoint, e.Host.OfRun = a.Endpoint, a.HostOfRun
	if a.EndpointCapacity > 0 {
		e.Queries.EndpointCapacity = tuning.Figure(a.EndpointCapacity)
	}
	if a.Partitions > 0 {
		e.Source.Partitions = tuning.Figure(a.Partitions)
	}
}

// addStep adds what the run itself saw of the step. The shares of the load client and of the collector are evidence of
// their own as well.
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
	// of Kafka the gateway's status is the producer's
	if !e.Source.LagEnd.Known() && e.Source.Kind != tuning.SourceKafka {
		e.Source.LagEnd = tuning.Figure(step.RecordsLag)
	}
}
