package runner

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// Launcher starts and ends topologies. At most one topology runs at a time, because two would share the hosts and
// neither could be measured. Local and Command implement it. All methods must be called from one goroutine.
type Launcher interface {
	// Launch submits a trial's topology under a name, and returns when the cluster has accepted it. The caller must
	// call End even after an error.
	Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*Launched, error)
	// End kills the topology that was launched last and saves its logs to a directory. It takes bounded time. If
	// broken is true, the trial failed for an unknown reason: a local cluster is then restarted before the next
	// launch.
	End(ctx context.Context, logs string, broken bool) error
	// Stop ends everything. It is called once, at the end. If hasten is closed, it kills the processes instead of
	// waiting for a clean end.
	Stop(hasten <-chan struct{}) error
}

// Launched is a topology that was submitted.
type Launched struct {
	Submitted time.Time
	// Ports are the connections of a session. The caller sets Progress and Outcomes.
	Ports measure.SessionPorts
	// Failed receives the error of a part that died and could not be restarted; nil if nobody watches.
	Failed <-chan error
	// Arguments are how the topology was launched; Settings is the Bullet YAML byte for byte.
	Arguments   runstore.Arguments
	Settings    []byte
	Environment measure.Environment
	// CollectorRestarts returns the number of restarts of the run's own collector; nil if the run has none.
	CollectorRestarts func() int
}

// prepare returns what is known of a launch before the topology is submitted: the Bullet YAML, the settings, and the
// ports to the collector and to this machine.
func prepare(conf, collector string, access measure.CollectorAccess, t runstore.PlannedTrial) (l *Launched, err error) {
	l = &Launched{}
	if l.Settings, err = textfile.Read(conf, textfile.Most); err != nil {
		return nil, err
	}
	c, err := measure.NewCollector(collector, access)
	if err != nil {
		return nil, err
	}
	l.Ports = measure.SessionPorts{Calculator: c, Facts: c}
	l.Ports.Slices, l.Ports.Annotations = c, c
	for _, e := range t.Settings {
		l.Arguments.Settings = append(l.Arguments.Settings, e.Key+"="+e.Value)
	}
	l.Ports.Machine, err = measure.NewProc()
	return l, err
}
