package load

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// followLimit bounds the time until the source's tasks follow a new setting; they poll once a second.
const followLimit = 10 * time.Second

// Order adds probes to the setting of the source and keeps those of other clients. background, if not nil, sets the
// rate of the background records. It returns when all of the source's tasks follow. takeBack undoes the change;
// records that the source already made stay.
func (g *Gateway) Order(ctx context.Context, probes []Probe, background *float64) (
	takeBack func(context.Context) error, err error) {
	before, err := g.Control(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the state of the record source: %w", err)
	}
	wanted := with(before, probes)
	if background != nil {
		wanted.RecordsPerSecond = *background
	}
	if err := g.SetControl(ctx, wanted); err != nil {
		return nil, fmt.Errorf("request matching records from the record source: %w", err)
	}
	takeBack = func(ctx context.Context) error {
		now, err := g.Control(ctx)
		if err != nil {
			return fmt.Errorf("read the state of the record source: %w", err)
		}
		now = without(now, probes)
		if background != nil && now.RecordsPerSecond == *background {
			now.RecordsPerSecond = before.RecordsPerSecond
		}
		return g.SetControl(ctx, now)
	}
	if err := g.follow(ctx); err != nil {
		undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), controlTimeout)
		defer cancel()
		_ = takeBack(undoing) // the error of follow is more useful
		return nil, err
	}
	return takeBack, nil
}

// follow waits until the source's tasks follow the last setting.
func (g *Gateway) follow(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, followLimit,
		fmt.Errorf("the record source did not apply the request within %s; check that the topology runs and polls %s",
			followLimit, g.base))
	defer cancel()
	return poll.Until(ctx, 200*time.Millisecond, func() bool {
		status, err := g.Status(ctx)
		return err == nil && status.Reporting > 0 && status.Following == status.Reporting
	})
}

func with(control Control, probes []Probe) Control {
	control = without(control, probes)
	control.Probes = append(control.Probes, probes...)
	return control
}

func without(control Control, probes []Probe) Control {
	ours := map[string]bool{}
	for _, p := range probes {
		ours[p.Value] = true
	}
	control.Probes = slices.DeleteFunc(slices.Clone(control.Probes), func(p Probe) bool { return ours[p.Value] })
	return control
}
