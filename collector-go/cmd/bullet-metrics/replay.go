package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/value"
	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// replayed is what is printed of a replay. Points are the sum of Stored, Refused and LeftOut.
type replayed struct {
	Points  uint64            `json:"points"`
	Stored  uint64            `json:"stored"`
	Refused map[string]uint64 `json:"refused"`
	LeftOut map[string]uint64 `json:"left_out"`
	Unknown []string          `json:"unknown"`
	// NotStored are the metrics that are not stored, by the names that their sources give them, of each topology.
	NotStored   map[string][]catalog.NotStored `json:"not_stored,omitempty"`
	Metrics     map[string]int                 `json:"metrics"`
	Unsupported uint64                         `json:"unsupported,omitempty"`
}

func newReplayCommand() *cobra.Command {
	var dir, output, storm string
	command := &cobra.Command{
		Use:   "replay CAPTURE.jsonl... --data-dir DIR",
		Short: "Store captures of what Storm handed to a metrics consumer, as if they had come over gRPC",
		Long: `Store captures of what Storm handed to a metrics consumer, as if they had come over gRPC, and say what became of every number.

A capture is a line of JSON for each data point, of any version of Storm (docs/replay.md). Its own clock, "now", is the clock; at the
end all open slices are closed. The directory is a collector's: "bullet-metrics query" asks it, and "bullet-metrics serve" serves it.`,
		Example: `  bullet-metrics replay capture.jsonl --data-dir data --output json
  bullet-metrics query data 'sum by (task) (storm_acked_total{component="DataSource"})'`,
		RunE: func(cmd *cobra.Command, captures []string) error {
			switch {
			case len(captures) == 0:
				return usageError{errors.New("name a capture to replay; bullet-metrics replay --help shows how")}
			case dir == "":
				return usageError{errors.New("--data-dir is missing: the directory to store into")}
			}
			if err := checkOutput(output); err != nil {
				return err
			}
			return runReplay(cmd.Context(), cmd.OutOrStdout(), captures, dir, output, storm)
		},
	}
	command.Flags().Var(textfile.PathFlag(&dir, ""), "data-dir", "directory to store into; it is made where it is missing")
	command.Flags().StringVar(&output, "output", outputText, "text or json")
	command.Flags().StringVar(&storm, "storm-version", "",
		"release of Storm of captures that do not state it, such as 2.2.0; guessed where it is not given")
	return command
}

const (
	outputText = "text"
	outputJSON = "json"
)

func checkOutput(output string) error {
	if output != outputText && output != outputJSON {
		return usageError{fmt.Errorf("--output is %q: choose %s or %s", output, outputText, outputJSON)}
	}
	return nil
}

// runReplay prints what became of the captures, also where some of their lines could not be read.
func runReplay(ctx context.Context, out io.Writer, captures []string, dir, output, storm string) error {
	files, closeFiles, err := openCaptures(captures)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer closeFiles()
	c := config.Default()
	c.DataDir, c.Embedded.RetentionTime, c.Embedded.RetentionBytes = dir, 0, 0 // a replay deletes nothing
	p, err := openReplay(c, newLogger(config.Log{Level: "warn", Format: "text"}))
	if err != nil {
		return fmt.Errorf("replay into %s: %w", dir, err)
	}
	summary, outcome, err := p.play(ctx, files, storm)
	if err != nil {
		return fmt.Errorf("replay into %s: %w", dir, err)
	}
	if err := summary.write(out, output); err != nil {
		return err
	}
	return unread(outcome)
}

// openCaptures opens all before anything is stored.
func openCaptures(paths []string) (files []*replay.File, closeAll func(), err error) {
	var opened []io.Closer
	closeAll = func() {
		for _, f := range opened {
			_ = f.Close() // read only
		}
	}
	for _, path := range paths {
		f, err := textfile.Open(path)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		opened = append(opened, f)
		files = append(files, replay.NewFile(path, f))
	}
	return files, closeAll, nil
}

// unread returns an error that names the lines that could not be read; the others are stored.
func unread(outcome replay.Outcome) error {
	if outcome.Unread == 0 {
		return nil
	}
	more := ""
	if n := outcome.Unread - len(outcome.Malformed); n > 0 {
		more = fmt.Sprintf("\nand %d more", n)
	}
	return fmt.Errorf("%d lines could not be read; all others were stored:\n%w%s", outcome.Unread,
		errors.Join(outcome.Malformed...), more)
}

// replaying is a collector without a wire and without a page, whose clock is the captures'.
type replaying struct {
	col    *collector
	clock  *replay.Clock
	before feed.Accounting

	earlier map[string][]replay.Run
}

func openReplay(c config.Config, logger *slog.Logger) (*replaying, error) {
	p := &replaying{col: &collector{logger: logger, failed: make(chan error, 5), replay: newIntake()},
		clock: &replay.Clock{}}
	err := p.col.openData(c, prometheus.NewRegistry())
	if err == nil {
		taking := ingest.DefaultOptions()
		taking.Now, taking.MaxTopologySeries, taking.Logger = p.clock.Now, c.Limits.SeriesPerTopology, logger
		p.col.ingest, err = ingest.New(p.col.journal, taking)
	}
	if err != nil {
		return nil, errors.Join(err, p.col.release(context.Background()))
	}
	p.before, p.earlier = p.col.feed.Accounting(), earlierRuns(p.col.known)
	return p, nil
}

// earlierRuns are the runs of topologies that a directory has.
func earlierRuns(known *registry.Registry) map[string][]replay.Run {
	runs := map[string][]replay.Run{}
	for _, summary := range known.Topologies() {
		topology, _ := known.Topology(summary.Name, "")
		for _, run := range topology.Runs {
			last, err := time.Parse(time.RFC3339, run.LastSeen)
			if err == nil { // else never seen
				runs[summary.Name] = append(runs[summary.Name], replay.Run{ID: run.ID, LastMs: last.UnixMilli()})
			}
		}
	}
	return runs
}

// play stores captures and closes the directory.
func (p *replaying) play(ctx context.Context, files []*replay.File, storm string) (*replayed, replay.Outcome, error) {
	col := p.col
	col.run(&col.feeder, col.feed.Run)
	col.run(&col.registrar, col.known.Run)
	player := replay.New(col.ingest, col.journal, p.clock, col.logger)
	player.Earlier, player.Storm = p.earlier, storm
	outcome, err := player.Play(ctx, files...)
	err = errors.Join(err, col.journal.Close())
	for _, reader := range []*task{&col.feeder, &col.registrar} {
		reader.wait(ctx) // the journal's end is its own
		reader.cancel()
		<-reader.done
	}
	select {
	case failed := <-col.failed:
		err = errors.Join(err, failed)
	default:
	}
	after, unknown := col.feed.Accounting(), p.unknown(outcome)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err == nil {
		err = ctx.Err() // ended while the store was given the rest
	}
	if err = errors.Join(err, col.release(closing)); err != nil {
		return nil, outcome, err
	}
	summary := summarize(outcome, p.before, after)
	summary.Unknown, summary.NotStored, summary.Metrics = unknown, p.notStored(outcome), col.replay.metrics()
	return summary, outcome, errors.Join(summary.check(), col.replay.check())
}

func (p *replaying) unknown(outcome replay.Outcome) []string {
	names := map[string]bool{}
	for topology := range outcome.Topologies {
		for _, name := range p.col.feed.UnknownNames(topology) {
			names[name] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(names))...)
}

func (p *replaying) notStored(outcome replay.Outcome) map[string][]catalog.NotStored {
	all := map[string][]catalog.NotStored{}
	for topology := range outcome.Topologies {
		if names, _ := p.col.feed.NotStored(topology); len(names) > 0 {
			all[topology] = names
		}
	}
	return all
}

// summarize joins the books of door and feed.
func summarize(outcome replay.Outcome, before, after feed.Accounting) *replayed {
	r := &replayed{Points: outcome.Points, Stored: after.InSlices - before.InSlices, Refused: map[string]uint64{},
		LeftOut:     map[string]uint64{},
		Unsupported: outcome.Unsupported}
	addCounts(r.Refused, outcome.Refused, nil)
	addCounts(r.Refused, after.Refused, before.Refused)
	addCounts(r.LeftOut, after.LeftOut, before.LeftOut)
	return r
}

// addCounts adds what grew.
func addCounts(to, now, before map[string]uint64) {
	for reason, n := range now {
		if n -= before[reason]; n > 0 {
			to[reason] += n
		}
	}
}

func sum(counts map[string]uint64) (all uint64) {
	for _, n := range counts {
		all += n
	}
	return all
}

func (r *replayed) check() error {
	if all := r.Stored + sum(r.Refused) + sum(r.LeftOut); all != r.Points {
		return fmt.Errorf("the books do not balance: %d points, of which %d were stored, %d refused and %d left out; this is a fault of the program",
			r.Points, r.Stored, sum(r.Refused), sum(r.LeftOut))
	}
	return nil
}

func (r *replayed) write(out io.Writer, output string) error {
	if output == outputJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "points    %d\nstored    %d\n", r.Points, r.Stored)
	writeReasons(&b, "refused", r.Refused)
	writeReasons(&b, "left out", r.LeftOut)
	if r.Unsupported > 0 {
		fmt.Fprintf(&b, "%-9s %d (values that are no numbers; not among the points)\n", "beside", r.Unsupported)
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintf(&b, "%-9s %s\n", "unknown", strings.Join(r.Unknown, ", "))
	}
	r.writeNotStored(&b)
	fmt.Fprintf(&b, "metrics   %d\n", len(r.Metrics))
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		fmt.Fprintf(&b, "  %-50s %d series\n", name, r.Metrics[name])
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// writeNotStored writes the names of what is not stored. What Storm says twice is summed up: JSON has its names.
func (r *replayed) writeNotStored(b *strings.Builder) {
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

// intake stands before the store and notes which series it is given.
type intake struct {
	feed.Store
	mu       sync.Mutex
	names    []string // by slice.Ref
	texts    []string
	given    map[string]map[string]bool // series by metric
	rejected map[string]int
}

func newIntake() *intake {
	return &intake{given: map[string]map[string]bool{}, rejected: map[string]int{}}
}

// Rewind implements feed.Rewinder.
func (s *intake) Rewind(cursor uint64) {
	if store, ok := s.Store.(feed.Rewinder); ok {
		store.Rewind(cursor)
	}
}

// Append implements feed.Store.
func (s *intake) Append(ctx context.Context, upTo uint64, closed *slice.Columns) (map[string]int, error) {
	rejected, err := s.Store.Append(ctx, upTo, closed)
	if err != nil {
		return rejected, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.define(closed.Definitions)
	for i, ref := range closed.Refs {
		if !value.IsStaleNaN(closed.Values[i]) {
			s.give(ref)
		}
	}
	for i, ref := range closed.HistogramRefs {
		if closed.Histograms[i] != nil {
			s.give(ref)
		}
	}
	for reason, n := range rejected {
		s.rejected[reason] += n
	}
	return rejected, nil
}

func (s *intake) define(definitions []slice.Definition) {
	for _, d := range definitions {
		for int(d.Ref) >= len(s.names) {
			s.names, s.texts = append(s.names, ""), append(s.texts, "")
		}
		s.names[d.Ref], s.texts[d.Ref] = d.Series.Name(), string(d.Series.Labels.Bytes(nil))
	}
}

func (s *intake) give(ref slice.Ref) {
	name := s.names[ref]
	if s.given[name] == nil {
		s.given[name] = map[string]bool{}
	}
	s.given[name][s.texts[ref]] = true
}

// metrics is how many series of each metric of the captures were stored; those of the collection itself are not of
// them.
func (s *intake) metrics() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]int, len(s.given))
	for name, series := range s.given {
		if !strings.HasPrefix(name, catalog.CollectionPrefix) {
			all[name] = len(series)
		}
	}
	return all
}

// check returns an error that reports what the store did not accept: slices too far behind what it holds.
func (s *intake) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rejected) == 0 {
		return nil
	}
	return fmt.Errorf("the store refused slices (%v): the directory holds data much newer than the capture; replay it into a directory of its own",
		s.rejected)
}
