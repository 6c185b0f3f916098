package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// victoria is VictoriaMetrics.
type victoria struct {
	program string
	process *bench.Process
	every   time.Duration // of stream aggregation; zero where samples are stored as they are
}

func newVictoria(tools string) (Peer, error) {
	path, err := program(tools, "victoria-metrics")
	return &victoria{program: path}, err
}

// NewAggregatingVictoria returns a VictoriaMetrics that keeps a count and a sum of each interval of each series, by its
// stream aggregation. Intervals are those in which samples arrive, since it does not use their times.
func NewAggregatingVictoria(tools string, every time.Duration) (Peer, error) {
	path, err := program(tools, "victoria-metrics")
	return &victoria{program: path, every: every}, err
}

// Start implements Peer. Rows are as old as a day and series as many as the load asks for: nothing else differs from
// its defaults but where it listens, and that it keeps no answers.
func (v *victoria) Start(ctx context.Context, dir string) (*bench.Process, error) {
	address, err := bench.FreeAddress()
	if err != nil {
		return nil, err
	}
	arguments := []string{"-storageDataPath=" + filepath.Join(dir, "data"), "-httpListenAddr=" + address,
		"-retentionPeriod=100y", "-search.maxUniqueTimeseries=2000000", "-search.disableCache"}
	if v.every > 0 {
		file := filepath.Join(dir, "aggregation.yml")
		// Intervals begin when it starts. Otherwise it would keep nothing of a burst before the clock's first whole
		// interval.
		rule := fmt.Sprintf("- {interval: %s, outputs: [count_samples, sum_samples]", v.every) +
			", no_align_flush_to_interval: true}\n"
		if err := errors.Join(os.MkdirAll(dir, 0o750), os.WriteFile(file, []byte(rule), 0o640)); err != nil {
			return nil, err
		}
		arguments = append(arguments, "-streamAggr.config="+file, "-search.latencyOffset=1s")
	}
	v.process, err = bench.Start(ctx, v.program, arguments, "http://"+address, "/health", filepath.Join(dir, "log"))
	return v.process, err
}

// Sender implements Peer.
func (v *victoria) Sender() (Sender, error) {
	if v.process == nil {
		return nil, errEnded
	}
	return newLineSender(v.process.Base() + "/write"), nil
}

// Count implements Peer.
func (v *victoria) Count(ctx context.Context, metric int, of Span) (values, sum float64, err error) {
	name := strings.ReplaceAll(bench.Field(metric), ".", "_")
	count, add := fmt.Sprintf("count_over_time(%s", name), fmt.Sprintf("sum_over_time(%s", name)
	if v.every > 0 {
		aggregated := `sum_over_time({__name__=~"%s:.*_%s_samples"}`
		count, add = fmt.Sprintf(aggregated, name, "count"), fmt.Sprintf(aggregated, name, "sum")
		of = Span{time.Now().Add(-time.Hour).UnixMilli(), time.Now().UnixMilli()}
	}
	answer := func(what string) (float64, error) {
		return v.process.Query(ctx, fmt.Sprintf("sum(%s[%dms]))", what, of.LastMs-of.FirstMs+1),
			time.UnixMilli(of.LastMs))
	}
	if values, err = answer(count); err != nil {
		return 0, 0, err
	}
	sum, err = answer(add)
	return values, sum, err
}

// command is a program with settings in its environment.
func command(environment []string, program string, arguments ...string) *exec.Cmd {
	c := exec.Command(program, arguments...)
	c.Env = append(c.Environ(), environment...)
	return c
}
