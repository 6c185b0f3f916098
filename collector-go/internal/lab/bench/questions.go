package bench

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Question is a query with its cost. The costs are the minimum of three attempts, because higher ones include other
// work of the machine.
type Question struct {
	What       string  `json:"what"`
	Expression string  `json:"expression"`
	StepS      float64 `json:"step_s"`
	// CPUMs is the server's CPU and Ms the time until the answer; each is the minimum of three attempts.
	CPUMs       float64 `json:"server_cpu_ms"`
	Ms          float64 `json:"ms"`
	AnswerBytes int     `json:"answer_bytes"`
}

// questions returns typical queries over a day: an average, a maximum per hour, every slice, and all metrics together.
func (r *run) questions() []Question {
	metric := fmt.Sprintf("%s{topology=%q}", StoredName(0), r.topology)
	return []Question{
		{What: "average by topology, every 5 minutes",
			Expression: fmt.Sprintf("avg by (topology) (avg_over_time(%s[5m]))", metric), StepS: 300},
		{What: "most of an hour, by worker", Expression: fmt.Sprintf("max by (worker) (max_over_time(%s[1h]))", metric),
			StepS: 3600},
		{What: "raw, every slice of every worker", Expression: metric, StepS: r.Width.Seconds()},
		{What: "average of each of the ten metrics, every 5 minutes",
			Expression: fmt.Sprintf("avg by (__name__) ({__name__=~\"storm_cpu_usage_.+\", topology=%q})", r.topology),
			StepS:      300},
	}
}

// Ask writes rows as Measure does, and runs the questions over a day on them. An own collector is restarted before the
// questions, so that their data comes from disk. asked is called after each question, for a caller that shows
// progress.
func (o *Ingest) Ask(ctx context.Context, clients int, asked func(Question)) (Step, []Question, error) {
	r := &run{Ingest: o, clients: clients, step: Step{Clients: clients}}
	defer r.clear()
	if err := r.write(ctx); err != nil {
		return r.step, nil, err
	}
	if r.Remote == nil {
		if err := r.serve(ctx); err != nil {
			return r.step, nil, err
		}
	}
	end := time.UnixMilli(r.startMs).Add(time.Duration(r.step.Rows/r.Hosts-1) * r.Step)
	questions := r.questions()
	for i := range questions {
		if err := r.ask(ctx, &questions[i], time.UnixMilli(r.startMs), end); err != nil {
			return r.step, nil, fmt.Errorf("%s: %w", questions[i].Expression, err)
		}
		asked(questions[i])
	}
	return r.step, questions, nil
}

// ask runs a question three times and keeps the minimum costs. The server's cache is bypassed, because a cached answer
// would cost nothing.
func (r *run) ask(ctx context.Context, q *Question, start, end time.Time) error {
	for n := range 3 {
		before, err := r.measured.CPU(ctx)
		if err != nil {
			return err
		}
		begun := time.Now()
		answer, err := r.server.Answer(ctx, q.Expression, start, end, time.Duration(q.StepS)*time.Second)
		if err != nil {
			return err
		}
		ms := float64(time.Since(begun).Microseconds()) / 1000
		after, err := r.measured.CPU(ctx)
		if err != nil {
			return err
		}
		cpu := (after - before).Seconds() * 1000
		q.AnswerBytes = len(answer)
		if n == 0 {
			q.Ms, q.CPUMs = ms, cpu
		}
		q.Ms, q.CPUMs = min(q.Ms, ms), min(q.CPUMs, cpu)
	}
	return nil
}

// QueryResult is the JSON output of `bench query`, which other programs read.
type QueryResult struct {
	Queries []Question `json:"queries"`
	Written Step       `json:"written"`
	Run
}

// Text returns the result as text.
func (r *QueryResult) Text() string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(&out, "%d samples, all returned by queries\n", r.Written.Samples)
	fmt.Fprintf(table, "server CPU, ms\tlatency, ms\tanswer, KiB\t  query\n")
	for _, q := range r.Queries {
		fmt.Fprintf(table, "%.0f\t%.0f\t%d\t  %s (%s)\n", q.CPUMs, q.Ms, q.AnswerBytes>>10, q.What, q.Expression)
	}
	table.Flush()
	return out.String()
}
