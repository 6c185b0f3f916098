package report

import (
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Figure is a number that may be unknown: NaN here, null in JSON.
type Figure = tuning.Figure

// Unknown is the figure that is not known.
var Unknown = tuning.Unknown

const (
	minuteMs = int64(time.Minute / time.Millisecond)
	mib      = 1 << 20
)

// filterLatencyMs are the tasks' means over (fromMs, toMs].
func filterLatencyMs(run *runstore.Figures, fromMs, toMs int64) []Figure {
	var tasks []Figure
	for _, task := range run.FilterLatencySeconds {
		tasks = append(tasks, runstore.Span{From: fromMs, To: toMs}.Mean(task)*1000)
	}
	return tasks
}

// total is NaN unless all are known: a sum with a part missing is no sum.
func total(figures []Figure) Figure {
	sum := Figure(0)
	for _, f := range figures {
		sum += f
	}
	return sum
}

// each maps figures over times.
func each(timesMs []int64, figure func(timeMs int64) Figure) []Figure {
	out := make([]Figure, len(timesMs))
	for i, t := range timesMs {
		out[i] = figure(t)
	}
	return out
}

// totalOrUnknown is the total; of nothing it is unknown.
func totalOrUnknown(figures []Figure) Figure {
	if len(figures) == 0 {
		return Unknown
	}
	return total(figures)
}

func largest(figures []Figure) Figure {
	most := Unknown
	for _, f := range figures {
		most = tuning.Greater(most, f)
	}
	return most
}
