package canary

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// Intervals and limits of the keeper.
const (
	lookEvery     = 2 * time.Second
	takeBackLimit = 5 * time.Second
)

// keeper keeps the canary's probes in the setting of the record source. Another client, such as an experiment,
// replaces that setting as a whole and thereby removes the probes; the keeper adds them again. Completeness is judged
// only for queries during which the source emitted the probes without a break, because the number of records is
// unknown otherwise.
type keeper struct {
	records Records
	probes  []load.Probe

	mu     sync.Mutex
	steady time.Time // since when the source has emitted the probes without a break; zero if it does not
}

// look reads the setting of the source and adds missing probes. The source replaces its setting as a whole, so the
// other clients' probes are sent along. The number of records is known only if all tasks follow the setting.
func (k *keeper) look(ctx context.Context) {
	control, err := k.records.Control(ctx)
	if err == nil && !k.ordered(control) {
		k.set(false)
		err = k.records.SetControl(ctx, control.With(k.probes))
	}
	if err != nil {
		k.set(false)
		return
	}
	status, err := k.records.Status(ctx)
	k.set(err == nil && status.Reporting > 0 && status.Following == status.Reporting)
}

// set stores whether the source emits the probes. After any break, the time counts from the start again.
func (k *keeper) set(steady bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !steady:
		k.steady = time.Time{}
	case k.steady.IsZero():
		k.steady = time.Now()
	}
}

// steadySince reports whether the source has emitted the probes without a break since a moment. Only then is a query's
// completeness judged, because missing probes would otherwise look like a loss in the topology.
func (k *keeper) steadySince(moment time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.steady.IsZero() && !k.steady.After(moment)
}

func (k *keeper) ordered(control load.Control) bool {
	return !slices.ContainsFunc(k.probes, func(p load.Probe) bool { return !slices.Contains(control.Probes, p) })
}

// takeBack removes the canary's probes from the setting of the record source and leaves those of other clients.
func (k *keeper) takeBack() error {
	ctx, cancel := context.WithTimeout(context.Background(), takeBackLimit)
	defer cancel()
	control, err := k.records.Control(ctx)
	others := control.Without(k.probes)
	if err != nil || len(others.Probes) == len(control.Probes) {
		return err
	}
	return k.records.SetControl(ctx, others)
}
