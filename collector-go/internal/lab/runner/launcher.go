package runner

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// Launcher starts and ends topologies. At most one topology runs at a time, since two would share the hosts and neither
// could be measured. Local and Command implement it. All methods belong to one goroutine.
type Launcher interface {
	// Launch submits a trial's topology under a name, and returns when the cluster has taken it. After an error, End is
	// still to be called.
	Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*Launched, error)
	// End kills the topology that was launched last and saves its logs to a directory. It takes bounded time. If broken
	// is true, the trial failed for an unknown reason: a local cluster is then restarted before the next launch.
	End(ctx context.Context, logs string, broken bool) error
	// Stop ends everything; it is called once, at the end. When hasten is closed it takes only what killing takes.
	Stop(hasten <-chan struct{}) error
}

// Launched is a topology that was submitted.
type Launched struct {
	Submitted time.Time
	// Ports are all that measuring needs; Progress and Outcomes are the caller's to set.
	Ports measure.SessionPorts
	// Failed gives the error of a part that died and could not be started again; nil where nobody watches.
	Failed <-chan error
	// Arguments are how it was launched, Settings the Bullet YAML as it was.
	Arguments   runstore.Arguments
	Settings    []byte
	Environment measure.Environment
	// CollectorRestarts counts those of a collector that is the run's own.
	CollectorRestarts func() int
}
