package diagnosis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// lookBack is how far back an ended alert is searched.
const lookBack = 24 * time.Hour

// find returns the active alert that the question names. If it is not active, find returns its last occurrence.
func find(ctx context.Context, p Ports, q Question) (Alert, error) {
	var found []Alert
	known := map[string]bool{}
	for _, a := range p.Active() {
		known[a.Name] = true
		if a.Name == q.Alert && (q.Topology == "" || a.Topology == q.Topology) {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		ended, was, err := findEnded(ctx, p, q)
		if err != nil || was {
			return ended, err
		}
		return Alert{}, &UnknownAlertError{Name: q.Alert, Topology: q.Topology, Known: slices.Sorted(maps.Keys(known))}
	}
	// Firing alerts come before pending ones, and earlier ones first, because an earlier alert is more likely to have
	// caused the others.
	slices.SortStableFunc(found, func(a, b Alert) int {
		if (a.State == "firing") != (b.State == "firing") {
			if a.State == "firing" {
				return -1
			}
			return 1
		}
		return a.Began.Compare(b.Began)
	})
	return found[0], nil
}

// stateStep is the resolution with which the beginning of an ended alert is determined.
const stateStep = 15 * time.Second

// findEnded searches the newest end of the alert in the series ALERTS. known is false if the alert was never active
// within lookBack.
func findEnded(ctx context.Context, p Ports, q Question) (last Alert, known bool, err error) {
	selector := fmt.Sprintf("ALERTS{alertname=%s}", strconv.Quote(q.Alert))
	if q.Topology != "" {
		selector = fmt.Sprintf("ALERTS{alertname=%s,topology=%s}", strconv.Quote(q.Alert), strconv.Quote(q.Topology))
	}
	lines, err := p.Figures.LinesBetween(ctx, selector, q.Now.Add(-lookBack), q.Now, stateStep)
	if err != nil {
		return Alert{}, false, err
	}
	var lastMs int64
	for _, line := range lines {
		if n := len(line.TimesMs); n > 0 && line.TimesMs[n-1] > lastMs {
			lastMs = line.TimesMs[n-1]
			ended := time.UnixMilli(lastMs)
			last = Alert{Name: q.Alert, State: "ended", Labels: plain(line.Labels), Began: began(line.TimesMs),
				Ended: &ended, Topology: line.Labels["topology"]}
		}
	}
	return last, lastMs > 0, nil
}

// began returns the start of the last interval without a gap.
func began(timesMs []int64) time.Time {
	i := len(timesMs) - 1
	for i > 0 && timesMs[i]-timesMs[i-1] <= stateStep.Milliseconds() {
		i--
	}
	return time.UnixMilli(timesMs[i])
}

func plain(labels map[string]string) map[string]string {
	all := maps.Clone(labels)
	delete(all, "__name__")
	delete(all, "alertstate")
	return all
}
