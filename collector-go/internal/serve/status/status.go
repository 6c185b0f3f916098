// Package status summarizes a running collector for a person at a terminal: whether it accepts samples, which
// topologies report to it, which alerts fire, and how much it stores. It owns the choice of figures and their text.
//
// Everything comes from the collector's HTTP API, so that the collector may run anywhere. The package must not know how
// the API finds its answers. Start with Read.
package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/common/model"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
)

// Status is the summary of a collector. A figure that is not known is nil.
type Status struct {
	Collector string `json:"collector"`
	Version   string `json:"version"`
	Ready     bool   `json:"ready"`
	// Reason is why the collector accepts no samples.
	Reason       string     `json:"reason,omitempty"`
	SamplesPerS  *float64   `json:"samples_per_s"`
	JournalBytes *float64   `json:"journal_bytes"`
	StoreBytes   *float64   `json:"store_bytes"`
	Topologies   []Topology `json:"topologies"`
	// Alerts are the alerts that fire, the oldest first, except the watchdog, which always fires.
	Alerts []Alert `json:"alerts"`
	// Missing is what the collector could not answer, with the reason.
	Missing []string `json:"missing,omitempty"`
}

// Topology is the newest run of a topology.
type Topology struct {
	Name    string          `json:"name"`
	State   registry.Ending `json:"state"`
	Since   string          `json:"since"` // RFC 3339
	Workers int             `json:"workers"`
	// LatencyS is Bullet's mean of the filter latency, of the slowest task.
	LatencyS *float64 `json:"filter_latency_mean_s"`
	// LagRecords is how many records in the source were not read yet.
	LagRecords *float64 `json:"source_lag_records"`
}

// Alert is an alert that fires.
type Alert struct {
	Name     string    `json:"name"`
	Topology string    `json:"topology,omitempty"`
	Since    time.Time `json:"since"`
	Summary  string    `json:"summary"`
}

// Figures of the collector and of each topology.
const (
	samplesPerS  = `sum(rate(bullet_metrics_ingest_journaled_samples_total[1m]))`
	journalBytes = `sum(bullet_metrics_journal_bytes)`
	storeBytes   = `sum(bullet_metrics_embedded_blocks_bytes)`
	latencies    = `max by (topology) (bullet_filter_latency_mean_seconds)`
	lags         = `sum by (topology) (bullet_source_lag_records) or sum by (topology) (bullet_source_partition_lag_records)`
)

// Read returns the status of a collector at a time. An error means that the collector cannot be reached, or that the
// caller may not read. What a collector that starts or fails cannot answer is in Missing.
func Read(ctx context.Context, c *client.Client, now time.Time) (*Status, error) {
	reason, err := c.Ready(ctx)
	if err != nil {
		return nil, err
	}
	r := reader{client: c, now: now, status: Status{Collector: c.Address(), Ready: reason == "", Reason: reason,
		Topologies: []Topology{}, Alerts: []Alert{}}}
	s := &r.status
	var flags map[string]string
	if err := r.get(ctx, "/api/v1/status/flags", &flags); err != nil {
		return nil, err
	}
	s.Version = cmp.Or(flags["version"], "of an unknown version")
	if err := errors.Join(r.topologies(ctx), r.alerts(ctx)); err != nil {
		return nil, err
	}
	s.SamplesPerS, s.JournalBytes, s.StoreBytes = r.figure(ctx, samplesPerS)[""], r.figure(ctx, journalBytes)[""],
		r.figure(ctx, storeBytes)[""]
	return s, nil
}

// reader reads the parts of a status.
type reader struct {
	client *client.Client
	now    time.Time
	status Status
	// unanswered is true after a failed query: the others would fail too.
	unanswered bool
}

// get reads a part. That the collector cannot answer now is no error.
func (r *reader) get(ctx context.Context, path string, data any) error {
	err := r.client.Get(ctx, path, data)
	var refused *client.Refusal
	if errors.As(err, &refused) && refused.Code != http.StatusUnauthorized && refused.Code != http.StatusForbidden {
		r.status.Missing = append(r.status.Missing, err.Error())
		return nil
	}
	return err
}

func (r *reader) topologies(ctx context.Context) error {
	var known []registry.Summary
	if err := r.get(ctx, "/api/v1/topologies", &known); err != nil {
		return err
	}
	latency, lag := r.figure(ctx, latencies), r.figure(ctx, lags)
	for _, t := range known {
		r.status.Topologies = append(r.status.Topologies, Topology{Name: t.Name, State: t.Condition.State,
			Since: t.Condition.Since, Workers: t.Workers, LatencyS: latency[t.Name], LagRecords: lag[t.Name]})
	}
	return nil
}

func (r *reader) alerts(ctx context.Context) error {
	var active struct {
		Alerts []struct {
			Labels      map[string]string
			Annotations map[string]string
			State       string
			ActiveAt    time.Time
		}
	}
	if err := r.get(ctx, "/api/v1/alerts", &active); err != nil {
		return err
	}
	for _, a := range active.Alerts {
		if a.State == "firing" && a.Labels["severity"] != string(alertrules.None) {
			r.status.Alerts = append(r.status.Alerts, Alert{Name: a.Labels[model.AlertNameLabel],
				Topology: a.Labels["topology"], Since: a.ActiveAt, Summary: a.Annotations["summary"]})
		}
	}
	slices.SortStableFunc(r.status.Alerts, func(a, b Alert) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Name, b.Name))
	})
	return nil
}

// figure returns the values of an expression by topology.
func (r *reader) figure(ctx context.Context, expression string) map[string]*float64 {
	if r.unanswered {
		return nil
	}
	found, err := r.client.Vector(ctx, expression, r.now)
	if err != nil {
		r.unanswered = true
		r.status.Missing = append(r.status.Missing, "figures: "+err.Error())
	}
	values := map[string]*float64{}
	for _, sample := range found {
		if value := float64(sample.Value); !math.IsNaN(value) && !math.IsInf(value, 0) {
			values[string(sample.Metric["topology"])] = &value
		}
	}
	return values
}

// Text returns the status for a person, with times in UTC.
func (s *Status) Text() string {
	var out strings.Builder
	state := "ready"
	if !s.Ready {
		state = "NOT READY: " + s.Reason
	}
	fmt.Fprintf(&out, "%s: bullet-metrics %s, %s\n", s.Collector, s.Version, state)
	fmt.Fprintf(&out, "accepted: %s samples/s; on disk: journal %s, store %s\n\n", shown(s.SamplesPerS, "%.0f"),
		mebibytes(s.JournalBytes), mebibytes(s.StoreBytes))
	s.writeTopologies(&out)
	switch {
	case len(s.Alerts) > 0:
		out.WriteString("\nFiring alerts\n")
	case len(s.Missing) == 0:
		out.WriteString("\nNo alert fires.\n")
	}
	for _, a := range s.Alerts {
		fmt.Fprintf(&out, "  %s  %s: %s\n", a.Since.UTC().Format("2006-01-02 15:04 UTC"), a.Name, a.Summary)
	}
	for _, missing := range s.Missing {
		fmt.Fprintf(&out, "No data: %s\n", missing)
	}
	return out.String()
}

func (s *Status) writeTopologies(out *strings.Builder) {
	switch {
	case len(s.Topologies) == 0 && len(s.Missing) == 0:
		out.WriteString("No topology has reported.\n")
		return
	case len(s.Topologies) == 0:
		return
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOPOLOGY\tSTATE\tWORKERS\tFILTER LATENCY (MEAN)\tSOURCE LAG (RECORDS)")
	for _, t := range s.Topologies {
		milliseconds := "-"
		if t.LatencyS != nil {
			milliseconds = fmt.Sprintf("%.3g ms", 1000**t.LatencyS)
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", t.Name, t.State, t.Workers, milliseconds,
			shown(t.LagRecords, "%.0f"))
	}
	_ = table.Flush() // to memory
}

func mebibytes(bytes *float64) string {
	if bytes == nil {
		return shown(nil, "")
	}
	return fmt.Sprintf("%.1f MiB", *bytes/(1<<20))
}

func shown(value *float64, format string) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprintf(format, *value)
}
