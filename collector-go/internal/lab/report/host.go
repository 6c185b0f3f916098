package report

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"

// A host whose processors were looked at is the one that everything ran on, or tune run's alone, and is called so.
const (
	theHost    = "host"
	theRunHost = "tune run's host"
)

// hostIdle names the figure where it stands for itself.
const hostIdle = "host idle"

// WorkerHosts is the caveat of runs whose workers run on other machines than tune run.
const WorkerHosts = "Worker hosts: not measured. The host of the figures is tune run's, on which no worker runs: " +
	"it excuses no missed goal, and whether the workers' machines had processors to spare is for you to look up. " +
	"The workers' own CPU is measured."

func hostOfRun(p runstore.Plan) bool { return p.Launch == "command" }

// idleHead heads a column of a host's idle.
func idleHead(host string) string {
	if host == theHost {
		return "Host idle"
	}
	return "Idle on tune run's host"
}

// withArticle names a host in a sentence: one that has no owner has an article.
func withArticle(host string) string {
	if host == theHost {
		return "the " + host
	}
	return host
}
