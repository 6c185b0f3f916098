package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/answer"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// day is 500 workers for as much of a day as is taken: what is older than 24 h is refused, and sending takes time
// itself.
func (s *session) day(name, what string, recorded bool) scenario {
	full := 8280
	if recorded {
		full /= 2 // what a sample takes on disk is the same for half a day
	}
	sh := shape{hosts: 500, metrics: 10, steps: s.sized(full, 1080, 720), step: 10 * time.Second,
		width: 10 * time.Second, streams: 4, perMessage: 125, recorded: recorded,
		back: 23*time.Hour + 20*time.Minute}
	goals := []int{6, 8}
	if recorded {
		goals = []int{6}
	}
	ours := subject{goal.Ours, func(ctx context.Context, dir string) (figures, error) {
		f, err := s.fill(ctx, dir, sh)
		if err != nil {
			return nil, err
		}
		out, err := f.end(ctx, s, dir)
		if err != nil || recorded {
			return out, err
		}
		v, err := s.serve(ctx, dir, "--slice-width", sh.width.String())
		if err != nil {
			return nil, err
		}
		stop := v.profile(s, "queries")
		if err := s.ask(ctx, v.Process, sh, f.startMs, true, out); err != nil {
			return nil, err
		}
		if err := stop(); err != nil {
			return nil, err
		}
		_, _, err = v.End()
		return out, err
	}}
	theirs := subject{"victoria", func(ctx context.Context, dir string) (figures, error) {
		h, err := s.hold(ctx, "victoria", dir, sh)
		if err != nil {
			return nil, err
		}
		out, err := h.end(ctx, dir)
		if err != nil || recorded {
			return out, err
		}
		p, err := h.Start(ctx, dir)
		if err != nil {
			return nil, err
		}
		started = append(started, p)
		if err := s.ask(ctx, p, sh, h.load.StartMs, false, out); err != nil {
			return nil, err
		}
		_, _, err = p.End()
		return out, err
	}}
	subjects := []subject{ours, theirs}
	if !recorded { // whose values are not independent, so that no least size is known
		subjects = append(subjects, subject{goal.Floor, func(context.Context, string) (figures, error) {
			return sh.entropy(s.seed), nil
		}})
	}
	return scenario{name: name, what: what, goals: goals, scale: sh.String(), subjects: subjects, once: recorded}
}

// entropy is the least size of the values alone: the entropy of the changes from each value to the next, which are
// independent in a random walk.
func (sh shape) entropy(seed uint64) figures {
	var hosts []int
	for h := range sh.hosts {
		hosts = append(hosts, h)
	}
	walk, last, times := sh.rows(seed).Walk(hosts), make([]float64, sh.hosts*sh.metrics), map[float64]float64{}
	for range sh.steps {
		walk.Next()
		for i, v := range walk.Values {
			times[v-last[i]]++
			last[i] = v
		}
	}
	bits, all := 0.0, float64(sh.samples())
	for _, n := range times {
		bits -= n / all * math.Log2(n/all)
	}
	return figures{"data_bytes_per_sample": bits / 8, "disk_bytes_per_sample": bits / 8}
}

// asks is how often a question is asked after a first time, whose answer is compared: their mean counts, so that what
// is collected as garbage now and then does.
const asks = 5

// ask asks a day's questions of a server that was started again, compares the first answer to each with what was sent,
// and adds what the others cost.
func (s *session) ask(ctx context.Context, p *bench.Process, sh shape, startMs int64, ours bool, out figures) error {
	truth := answer.NewTruth(sh.rows(s.seed), startMs, sh.step.Milliseconds(), sh.steps)
	for _, q := range answer.Questions(topology, sh.width.Milliseconds()) {
		expression := q.Peers
		if ours {
			expression = q.Ours
		}
		step := time.Duration(q.StepMs) * time.Millisecond
		begin := startMs + time.Hour.Milliseconds()
		end := begin + (startMs+int64(sh.steps-1)*sh.step.Milliseconds()-begin)/q.StepMs*q.StepMs
		from, to := time.UnixMilli(begin), time.UnixMilli(end)
		body, err := p.Answer(ctx, expression, from, to, step)
		if err != nil {
			return fmt.Errorf("%s: %w", expression, err)
		}
		values, err := q.Compare(truth, body, begin, end)
		if err != nil {
			return fmt.Errorf("%s: %w", expression, err)
		}
		before, err := threadsCPU(p)
		if err != nil {
			return err
		}
		asked := time.Now()
		for range asks {
			if _, err := p.Answer(ctx, expression, from, to, step); err != nil {
				return err
			}
		}
		took := time.Since(asked)
		after, err := threadsCPU(p)
		if err != nil {
			return err
		}
		out["query_"+q.Name+"_cpu_ms"] = float64((after - before).Microseconds()) / 1000 / asks
		out["query_"+q.Name+"_ms"] = float64(took.Microseconds()) / 1000 / asks
		out["query_"+q.Name+"_values_compared"] = float64(values)
	}
	return nil
}

// threadsCPU is what a process' present threads have used so far, to the nanosecond, where its CPU counts in steps of
// 10 ms. What a thread used that has ended since is missing: it is for short measurements.
func threadsCPU(p *bench.Process) (sum time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Command.Process.Pid))
	if err != nil {
		return 0, err
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}
