package experimentfile

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

//go:embed demo.yaml
var demoText string

// DemoConf is the file with Bullet's settings in the experiment of the demo.
const DemoConf = "topology/bullet-topology/conf/bullet_settings.yaml"

// Times of a demo.
const (
	// DemoLimit is the default limit.
	DemoLimit = 5 * time.Minute
	leastDemo = 3 * time.Minute
	demoStart = 110 * time.Second // up to the first step
	// DemoReporting is the time to end the topology and to write the report.
	DemoReporting = 10 * time.Second
	// DemoLeastSteps is the minimum number of steps.
	DemoLeastSteps = 3
)

// Demo changes the built-in experiment.
type Demo struct {
	Limit            time.Duration // from the start of the program to the written report
	Queries          []int         // of each step; nil for those of the experiment
	RecordsPerSecond float64       // 0 finds the rate
	BulletConf       string        // file with Bullet's settings
}

// File returns the experiment and its text.
func (d Demo) File() (*File, []byte, error) {
	if d.Limit < leastDemo {
		return nil, nil, fmt.Errorf("--seconds: the demo needs at least %s, because starting a topology takes half of that", leastDemo)
	}
	text := []byte(strings.Replace(demoText, DemoConf, strconv.Quote(d.BulletConf), 1))
	file, err := Parse("demo.yaml", text)
	if err != nil {
		return nil, nil, err
	}
	if d.Queries != nil {
		if len(d.Queries) < DemoLeastSteps || d.Queries[0] != 0 {
			return nil, nil, fmt.Errorf("--queries %v: give at least %d steps, the first with 0 queries as the baseline",
				d.Queries, DemoLeastSteps)
		}
		file.Steps.Values = tuning.Each(d.Queries, func(n int) float64 { return float64(n) })
	}
	if d.RecordsPerSecond < 0 {
		return nil, nil, fmt.Errorf("--records-per-second %g: must not be negative", d.RecordsPerSecond)
	}
	if d.RecordsPerSecond > 0 {
		file.Load.RecordsPerSecond = Rate{PerSecond: d.RecordsPerSecond}
	}
	// The steps share the time. There is one for each value, and two confirm the bounds of the capacity.
	steps := time.Duration(len(file.Steps.Values) + 2)
	spare := (d.Limit-demoStart-DemoReporting)/steps - file.Plan().StepTime()
	file.Steps.Sustain += max(0, Duration(spare)/file.Launch.SliceWidth*file.Launch.SliceWidth)
	return file, text, file.Check()
}
