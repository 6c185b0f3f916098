package peer

import (
	"context"
	"fmt"
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
}

func newVictoria(tools string) (Peer, error) {
	path, err := program(tools, "victoria-metrics")
	return &victoria{program: path}, err
}

// Start implements Peer. Rows are as old as a day and series as many as the load asks for: nothing else differs from
// its defaults but where it listens, and that it keeps no answers.
func (v *victoria) Start(ctx context.Context, dir string) (*bench.Process, error) {
	address, err := bench.FreeAddress()
	if err != nil {
		return nil, err
	}
	v.process, err = bench.Start(ctx, v.program, []string{"-storageDataPath=" + filepath.Join(dir, "data"),
		"-httpListenAddr=" + address,
		"-retentionPeriod=100y", "-search.maxUniqueTimeseries=2000000", "-search.disableCache"}, "http://"+address,
		"/health", filepath.Join(dir, "log"))
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
	return countByPromQL(ctx, v.process, metric, of)
}

// PromName is what peers that answer PromQL call a metric.
func PromName(metric int) string { return strings.ReplaceAll(bench.Field(metric), ".", "_") }

// countByPromQL asks a server for a metric's values.
func countByPromQL(ctx context.Context, p *bench.Process, metric int, of Span) (values, sum float64, err error) {
	answer := func(function string) (float64, error) {
		return p.Query(ctx, fmt.Sprintf("sum(%s(%s[%dms]))", function, PromName(metric), of.LastMs-of.FirstMs+1),
			time.UnixMilli(of.LastMs))
	}
	if values, err = answer("count_over_time"); err != nil {
		return 0, 0, err
	}
	sum, err = answer("sum_over_time")
	return values, sum, err
}

// command is a program with settings in its environment.
func command(environment []string, program string, arguments ...string) *exec.Cmd {
	c := exec.Command(program, arguments...)
	c.Env = append(c.Environ(), environment...)
	return c
}
