package report

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"

// A host whose processors were looked at is the one that everything ran on, or the load client's alone, and is called
// so.
const (
	theHost       = "host"
	theClientHost = "load client's host"
)

// hostIdle names the figure where it stands for itself.
const hostIdle = "host idle"

// WorkerHosts is the caveat of runs whose workers run on other machines than the load client.
const WorkerHosts = "Worker hosts: not measured. The host of the figures is the load client's, on which no worker " +
	"runs: " +
	"it excuses no missed goal, and whether the workers' machines had processors to spare is for you to look up. " +
	"The workers' own CPU is measured."

func hostOfClient(p rundir.Plan) bool { return p.Launch == "command" }

// idleHead heads a column of a host's idle.
func idleHead(host string) string {
	if host == theHost {
		return "Host idle"
	}
	return "Load client's host idle"
}
