package part

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

func TestManyReadAtOnce(t *testing.T) {
	fs, all := damaged(t, func(*Part, []byte) {})
	p := open(t, fs, "part")
	byLabels := map[string]one{}
	for _, s := range all {
		byLabels[s.labels.String()] = s
	}
	var wait sync.WaitGroup
	for n := range 4 {
		wait.Go(func() {
			found, err := p.Select(context.Background(), math.MinInt64, math.MaxInt64, nil)
			assert.NoError(t, err)
			var runs []run.Run
			for i := range found {
				f := found[(i*(n+1)*7)%len(found)]
				runs, err = f.Reader.Runs(f.Ref, math.MinInt64, math.MaxInt64, runs[:0])
				assert.NoError(t, err)
				assert.Len(t, twinOf(runs), len(knownTwin(f.Labels.String(), byLabels[f.Labels.String()].runs)))
			}
		})
	}
	wait.Wait()
}
