package replay

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
)

// Summary is the output of the replay command. Points equals the sum of Stored, Refused and LeftOut. Scripts read it as
// JSON, so its keys never change.
type Summary struct {
	Points  uint64            `json:"points"`
	Stored  uint64            `json:"stored"`
	Refused map[string]uint64 `json:"refused"`
	LeftOut map[string]uint64 `json:"left_out"`
	Unknown []string          `json:"unknown"`
	// NotStored are the metrics that are not stored, by topology. Their names are those of their sources.
	NotStored   map[string][]catalog.NotStored `json:"not_stored,omitempty"`
	Metrics     map[string]int                 `json:"metrics"`
	Unsupported uint64                         `json:"unsupported,omitempty"`
}

// Summarize combines the counts of ingest and of the feed. It subtracts the feed's counts from before the replay,
// because the directory may contain other data.
func Summarize(outcome Outcome, before, after feed.Accounting, names Names) *Summary {
	r := &Summary{Points: outcome.Points, Stored: after.InSlices - before.InSlices, Refused: map[string]uint64{},
		LeftOut: map[string]uint64{}, Unsupported: outcome.Unsupported}
	addCounts(r.Refused, outcome.Refused, nil)
	addCounts(r.Refused, after.Refused, before.Refused)
	addCounts(r.LeftOut, after.LeftOut, before.LeftOut)
	r.Unknown, r.NotStored = []string{}, map[string][]catalog.NotStored{}
	for topology := range outcome.Topologies {
		r.Unknown = append(r.Unknown, names.UnknownNames(topology)...)
		if notStored, _ := names.NotStored(topology); len(notStored) > 0 {
			r.NotStored[topology] = notStored
		}
	}
	slices.Sort(r.Unknown)
	r.Unknown = slices.Compact(r.Unknown)
	return r
}

// Names are the metrics of a topology that are unknown or not stored; feed.Feed implements it.
type Names interface {
	UnknownNames(topology string) []string
	NotStored(topology string) ([]catalog.NotStored, int)
}

// addCounts adds to each count in to by how much it rose from before to now.
func addCounts(to, now, before map[string]uint64) {
	for reason, n := range now {
		if n -= before[reason]; n > 0 {
			to[reason] += n
		}
	}
}

// sum adds the counts of all reasons.
func sum(counts map[string]uint64) (all uint64) {
	for _, n := range counts {
		all += n
	}
	return all
}

// Check returns an error if the numbers do not add up. A sample was then lost or counted twice, which is a bug in the
// collector and not a problem of the capture.
func (r *Summary) Check() error {
	if all := r.Stored + sum(r.Refused) + sum(r.LeftOut); all != r.Points {
		return fmt.Errorf("the accounts do not balance: %d points, but %d stored, %d refused and %d left out; please report this bug",
			r.Points, r.Stored, sum(r.Refused), sum(r.LeftOut))
	}
	return nil
}

// Text returns the summary as text for people.
func (r *Summary) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "points    %d\nstored    %d\n", r.Points, r.Stored)
	writeReasons(&b, "refused", r.Refused)
	writeReasons(&b, "left out", r.LeftOut)
	if r.Unsupported > 0 {
		fmt.Fprintf(&b, "%-9s %d (values that are not numbers; not counted as points)\n", "beside", r.Unsupported)
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintf(&b, "%-9s %s\n", "unknown", strings.Join(r.Unknown, ", "))
	}
	r.writeNotStored(&b)
	fmt.Fprintf(&b, "metrics   %d\n", len(r.Metrics))
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		fmt.Fprintf(&b, "  %-50s %d series\n", name, r.Metrics[name])
	}
	return b.String()
}

// writeNotStored writes the names of the metrics that are not stored. It only counts those that repeat a stored metric;
// the JSON output lists them.
func (r *Summary) writeNotStored(b *strings.Builder) {
	for _, topology := range slices.Sorted(maps.Keys(r.NotStored)) {
		twice := 0
		for _, n := range r.NotStored[topology] {
			if !n.Lost && n.Reason != catalog.ReasonOwnName {
				twice++
				continue
			}
			what := "not stored"
			if !n.Lost {
				what = "not made"
			}
			fmt.Fprintf(b, "%-9s %s of %s (%s): %s is stored under that name\n", what, n.Metric, n.Component, n.Reason,
				n.Beside)
		}
		if twice > 0 {
			fmt.Fprintf(b, "%-9s %d metrics of %s repeat what is stored; --output json lists them\n", "redundant", twice,
				topology)
		}
	}
}

// writeReasons writes a line with the total and, in parentheses, the count of each reason.
func writeReasons(b *strings.Builder, what string, counts map[string]uint64) {
	fmt.Fprintf(b, "%-9s %d", what, sum(counts))
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, counts[reason]))
	}
	if len(reasons) > 0 {
		fmt.Fprintf(b, " (%s)", strings.Join(reasons, ", "))
	}
	b.WriteByte('\n')
}

// Err returns an error that lists the malformed lines, or nil if there were none. All other lines are stored.
func (o Outcome) Err() error {
	if o.Unread == 0 {
		return nil
	}
	more := ""
	if n := o.Unread - len(o.Malformed); n > 0 {
		more = fmt.Sprintf("\nand %d more", n)
	}
	return fmt.Errorf("%d lines could not be read; all others were stored:\n%w%s", o.Unread,
		errors.Join(o.Malformed...), more)
}
