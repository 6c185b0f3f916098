package searchrunner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Engine runs a trial on a cluster. The Runner calls it from one goroutine, one trial at a time.
type Engine interface {
	// Play runs a trial into its directory, or continues one that was interrupted there. An error means that the
	// configuration could not be measured. If ctx ends, the error is the cause of ctx, and the directory can be
	// continued later.
	Play(ctx context.Context, o Order) (Outcome, error)
}

// Order is a request to run a trial.
type Order struct {
	Number int
	Point  optimize.Point
	// Label is the configuration in one line.
	Label string
	Dir   string
}

// Progress receives messages about what the runner does.
type Progress interface {
	Say(format string, args ...any)
}

// Runner runs the trials of a search one after the other and stores them in a directory. It is not safe for concurrent
// use.
//
// The directory is the only state: NewRunner reads the stored trials, and the search recomputes its next proposal from
// them. Several failures in a row stop the Runner, because they mean that the cluster is broken and not the
// configurations. The outcomes of these trials are removed, so that they run again later.
type Runner struct {
	search   *Search
	dir      string
	engine   Engine
	progress Progress
	// Deadline is the time after which no trial starts. The zero time means no deadline.
	Deadline time.Time
	now      func() time.Time

	kept    []Kept
	failing []int // indices in kept of the latest trials, as long as none of them could be measured
}

// ErrTime means that the time limit of this invocation has passed.
var ErrTime = errors.New("the time limit has passed")

// mostFailing is how many trials in a row may fail to be measured. After that the cluster is assumed to be at fault and
// not the configurations.
const mostFailing = 3

// NewRunner continues from a directory, which it creates if necessary. It refuses a directory whose trials were run
// with another target, load or launch (terms.json), because their figures are not comparable.
func NewRunner(search *Search, dir string, engine Engine, progress Progress) (*Runner, error) {
	r := &Runner{search: search, dir: dir, engine: engine, progress: progress, now: time.Now}
	if err := os.MkdirAll(filepath.Join(dir, TrialsDir), 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, TermsFile)); errors.Is(err, os.ErrNotExist) {
		terms, err := search.termsText()
		if err == nil {
			err = write(dir, TermsFile, terms)
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	r.kept, err = search.Load(dir)
	return r, err
}

// Finished returns the trials that have an outcome and belong to the search's space, in their order.
func (r *Runner) Finished() []optimize.Trial { return r.search.Finished(r.kept) }

// Used returns the mean resource usage of the trials of a configuration.
func (r *Runner) Used(p optimize.Point) Used { return r.search.Used(r.kept, p) }

// Left returns how many of the points a grid still has to measure.
func (r *Runner) Left(points []optimize.Point) int { return len(r.search.GridLeft(points, r.kept)) }

// Search runs the proposals of a search until it ends. It returns the cause of ctx, ErrTime, or an error if trials
// cannot be measured. Finished trials stay stored in any case.
func (r *Runner) Search(ctx context.Context, s *optimize.Search) error {
	return r.run(ctx, func() (optimize.Proposal, bool, error) { return s.Next(r.Finished()) })
}

// Grid runs each of the points once, and a second time if it could not be measured. Its errors are those of Search.
func (r *Runner) Grid(ctx context.Context, points []optimize.Point) error {
	return r.run(ctx, func() (optimize.Proposal, bool, error) {
		if left := r.search.GridLeft(points, r.kept); len(left) > 0 {
			return left[0], true, nil
		}
		return optimize.Proposal{}, false, nil
	})
}

// run repeats interrupted trials and then runs the proposals of next until it returns false.
func (r *Runner) run(ctx context.Context, next func() (optimize.Proposal, bool, error)) error {
	if err := r.again(ctx); err != nil {
		return err
	}
	for {
		p, more, err := next()
		if err != nil || !more {
			return err
		}
		if err := r.begin(ctx); err != nil {
			return err
		}
		label := r.search.Space.Text(p.Point)
		k := Kept{Number: r.lastNumber() + 1, Attempt: p.Attempt, Why: p.Why, Settings: r.search.Space.Texts(p.Point)}
		k.Dir = dirOf(r.dir, k.Number, label)
		if err := k.save(); err != nil {
			return err
		}
		r.progress.Say("trial %d: %s (%s)", k.Number, label, p.Why)
		r.kept = append(r.kept, k)
		if err := r.play(ctx, len(r.kept)-1, p.Point); err != nil {
			return err
		}
	}
}

// again repeats the interrupted trials before any new one, because the search would otherwise propose without their
// outcomes.
func (r *Runner) again(ctx context.Context) error {
	for i, k := range r.kept {
		p, found := r.search.Space.At(k.Settings)
		if k.Outcome != nil || !found {
			continue
		}
		if err := r.begin(ctx); err != nil {
			return err
		}
		r.progress.Say("trial %d: %s was cut off, and is played again", k.Number, r.search.Space.Text(p))
		if err := r.play(ctx, i, p); err != nil {
			return err
		}
	}
	return nil
}

// begin returns nil if another trial may start.
func (r *Runner) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !r.Deadline.IsZero() && r.now().After(r.Deadline) {
		return ErrTime
	}
	return nil
}

func (r *Runner) lastNumber() int {
	if len(r.kept) == 0 {
		return 0
	}
	return r.kept[len(r.kept)-1].Number
}

// play runs the i-th of the stored trials and stores its outcome.
func (r *Runner) play(ctx context.Context, i int, p optimize.Point) error {
	k := &r.kept[i]
	began := r.now()
	outcome, err := r.engine.Play(ctx, Order{Number: k.Number, Point: p, Label: r.search.Space.Text(p), Dir: k.Dir})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		r.progress.Say("trial %d could not be measured: %v", k.Number, err)
		outcome = unmeasured(tuning.Inconclusive)
		outcome.Error = err.Error()
		if r.failing = append(r.failing, i); len(r.failing) == mostFailing {
			return errors.Join(fmt.Errorf(
				"%d trials in a row could not be measured; mend what kept them, and go on: they are played again: %w",
				mostFailing, err), r.forget())
		}
	} else {
		r.failing = nil
	}
	outcome.Seconds = r.now().Sub(began).Seconds()
	k.Outcome = &outcome
	if err := k.save(); err != nil {
		return err
	}
	if outcome.Error == "" {
		r.progress.Say("trial %d: %s%s", k.Number, outcome.Verdict, outcome.figures())
	}
	return r.record()
}

// forget removes the outcomes of the trials that could not be measured, so that they run again.
func (r *Runner) forget() (err error) {
	for _, i := range r.failing {
		r.kept[i].Outcome = nil
		err = errors.Join(err, r.kept[i].save())
	}
	return err
}

// record writes the finished trials as a space file.
func (r *Runner) record() error {
	trials := r.Finished()
	source := fmt.Sprintf("%d trials of %s on a cluster, kept in %s", len(trials), filepath.Base(r.search.File.Path()),
		r.dir)
	return write(r.dir, SpaceFile, r.search.File.Recorded(source, trials))
}

func (o Outcome) figures() (text string) {
	if o.LatencyMs.Known() {
		text += ", " + tuning.Digits(o.LatencyMs) + " ms"
	}
	if o.Completeness.Known() {
		text += ", " + tuning.Digits(100*o.Completeness) + "% complete"
	}
	if o.Limiter != "" {
		text += ", limited by " + string(o.Limiter)
	}
	return fmt.Sprintf("%s, %.0f s", text, o.Seconds)
}
