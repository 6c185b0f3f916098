package experimentfile

import (
	_ "embed"
	"fmt"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed demo.yaml
var demoText string

// DemoConf is the file with Bullet's settings in the experiment of the demo.
const DemoConf = "topology/bullet-topology/conf/bullet_settings.yaml"

// Times of a demo with a limit.
const (
	leastDemo = time.Minute     // starting a topology takes half of it
	shortDemo = 5 * time.Minute // below it, steps are shortened to the following
	// shortSustain has three slices, the minimum for a mean.
	shortWarmUp, shortSustain = 5 * time.Second, 15 * time.Second
	demoStart                 = time.Minute // up to the first step
	// DemoReporting is the time to end the topology and to write the report.
	DemoReporting = 20 * time.Second
	// DemoLeastSteps is the minimum number of steps.
	DemoLeastSteps = 3
)

// Demo changes the built-in experiment.
type Demo struct {
	Limit            time.Duration // from the submission of the topology to the written report; 0 for none
	Queries          []int         // of each step; nil for those of the experiment
	RecordsPerSecond float64       // 0 finds the rate
	BulletConf       string        // file with Bullet's settings
}

// File returns the experiment and its text.
func (d Demo) File() (*File, []byte, error) {
	if d.Limit != 0 && d.Limit < leastDemo {
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
		if float64(slices.Max(d.Queries)) < file.Steps.ExpectedCapacity {
			file.Steps.ExpectedCapacity = 0 // the steps do not reach it
		}
	}
	if d.RecordsPerSecond < 0 {
		return nil, nil, fmt.Errorf("--records-per-second %g: must not be negative", d.RecordsPerSecond)
	}
	if d.RecordsPerSecond > 0 {
		file.Load.RecordsPerSecond = Rate{PerSecond: d.RecordsPerSecond}
	}
	d.fit(file)
	return file, text, file.Check()
}

// fit shortens the steps of a demo with a limit, and removes those that it has no time for: the record source makes the
// matching records of the largest step throughout.
func (d Demo) fit(file *File) {
	if d.Limit == 0 {
		return
	}
	if d.Limit < shortDemo {
		file.Steps.WarmUp, file.Steps.Sustain = Duration(shortWarmUp), Duration(shortSustain)
	}
	fitting := int((d.Limit-demoStart-DemoReporting)/file.Plan().StepTime()) + 1
	file.Steps.Values = file.Steps.Values[:min(max(DemoLeastSteps, fitting), len(file.Steps.Values))]
}
