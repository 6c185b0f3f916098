package examine

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/doctor"
)

// Sources name what is examined. Empty ones are not examined.
type Sources struct {
	Jar, Settings string // files
	Nimbus, Logs  []string
	Topology      string
	Bullet        string // its version
	Collector     *client.Client
	Assumed       bool // the user did not name the collector
}

// interval is the time between two examinations.
const interval = 2 * time.Second

// Report examines the sources until no check is waiting for something, for at most wait.
func (s Sources) Report(ctx context.Context, wait time.Duration) (report doctor.Report) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_ = poll.Until(waiting, interval, func() bool {
		report = doctor.Examine(s.facts(ctx))
		return !report.Waits()
	})
	return report
}

func (s Sources) facts(ctx context.Context) doctor.Facts {
	facts := doctor.Facts{Bullet: s.Bullet}
	if s.Jar != "" {
		facts.Jar = Jar(s.Jar)
	}
	if s.Settings != "" {
		facts.Settings = Settings(s.Settings)
		facts.Ports, facts.Unreadable = Connection(ctx, facts.Settings)
	}
	if len(s.Nimbus) > 0 {
		facts.Cluster = Cluster(ctx, s.Nimbus, s.Topology)
	}
	for _, path := range s.Logs {
		facts.Logs = append(facts.Logs, Log(path))
	}
	if s.Collector != nil {
		facts.Collector = Collector(ctx, s.Collector, s.Topology, time.Now())
		facts.Collector.Assumed = s.Assumed
	}
	return facts
}
