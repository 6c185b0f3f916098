package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The scenarios that need Storm are played by the tests of a real cluster (collector-go/testing/e2e) and by the
// plugin's own measuring programs (plugin-java/bench): what they say at their end is held to the table here. `make
// chaos` builds both.

// worker is scenario 18: SIGKILL of a worker under load; one that stays away and is rebalanced away, and topologies
// that are killed, are played with it, since each goes by the alerts that wake somebody; a part of the scenario is the
// SIGKILL alone, since the others take eight minutes. TestRunningTopology plays all of them in make test-all too.
func worker() Scenario {
	return Scenario{Number: 18, Fault: "worker killed", Full: 3, Long: true,
		Try: func(ctx context.Context, g *Ground, tries int) (all Outcome, err error) {
			played, long := "TestRunningTopology/(collector_killed|measured|worker_killed|journal)",
				"BULLET_METRICS_LONG="
			if g.Scale >= 1 {
				played, long = "TestRunningTopology/(collector_killed|measured|worker_killed|filter_slowed|worker_away|topologies_killed|journal)",
					"BULLET_METRICS_LONG=1"
			}
			for range tries {
				o, err := g.onCluster(ctx, played, long)
				if err != nil {
					return all, err
				}
				all.Add(o)
			}
			return all, nil
		}}
}

// collectorRestarts is scenario 19: the collector killed again and again while a topology runs. So many kills in a run
// of the cluster, since the launcher abandons a collector that died ten times.
func collectorRestarts() Scenario {
	const killsOfARun = 8
	return Scenario{Number: 19, Fault: "collector restarted", Full: 24, Long: true,
		Try: func(ctx context.Context, g *Ground, tries int) (all Outcome, err error) {
			for played := 0; played < tries; played += killsOfARun {
				kills := min(killsOfARun, tries-played)
				o, err := g.onCluster(ctx, "TestRunningTopology/(collector_killed_again_and_again|journal)",
					"BULLET_METRICS_CHAOS_RESTARTS="+strconv.Itoa(kills))
				if err != nil {
					return all, err
				}
				o.Tries = kills
				all.Add(o)
			}
			o, err := g.hostile(ctx, "DEAD", g.Duration(2*time.Minute, 10*time.Second))
			o.Tries = 0
			all.Add(o)
			return all, err
		}}
}

// blackhole is scenario 20: a collector that accepts connections and never answers, for an hour.
func blackhole() Scenario {
	return Scenario{Number: 20, Fault: "collector dead for an hour", Full: 1, Long: true,
		Try: func(ctx context.Context, g *Ground, _ int) (Outcome, error) {
			return g.hostile(ctx, "BLACKHOLE", g.Duration(time.Hour, 20*time.Second))
		}}
}

// onCluster runs tests of the cluster once; a failure of theirs is a broken promise.
func (g *Ground) onCluster(ctx context.Context, run string, environment ...string) (Outcome, error) {
	command := groupCommand(ctx, "go", "test", "-tags", "e2e", "-count=1", "-timeout", "2h", "-v", "-run", run, "./testing/e2e")
	command.Dir = filepath.Join(g.Repository, "collector-go")
	command.Env = append(os.Environ(), environment...)
	said, err := command.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
		return Outcome{}, fmt.Errorf("run %s on a cluster: %w", run, err)
	}
	o := Outcome{Tries: 1}
	figures, measured := heard(said)
	o.Acknowledged, o.Lost, o.Doubled, o.Damaged, o.Measured = figures["acknowledged"], figures["lost"],
		figures["doubled"], figures["unsent"], measured
	if err != nil {
		whole, err := keep(g.Dir, said)
		if err != nil {
			return o, err
		}
		o.Broken = append(o.Broken, run+" (all that was printed: "+whole+"): "+string(said[max(0, len(said)-3000):]))
	} else if figures["acknowledged"] == 0 {
		return o, fmt.Errorf("%s said nothing of what was acknowledged", run)
	}
	return o, nil
}

// keep writes what was printed into a file of its own, whose path it returns.
func keep(dir string, printed []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, "cluster-*.log")
	if err != nil {
		return "", err
	}
	_, err = f.Write(printed)
	return f.Name(), errors.Join(err, f.Close())
}

// What the plugin may cost its worker (scenarios 19 and 20): of a core, so of a worker that has one, and of its
// heap.
const (
	mostOfACorePPM      = 10_000
	mostHeapGrowthBytes = 8 << 20
	// queueSamples is the plugin's queue as it comes: what is beyond it is dropped.
	queueSamples = 500_000
)

// hostile holds the plugin of 1,162 executors to its limits beside a kind of bad collector, for so long.
func (g *Ground) hostile(ctx context.Context, kind string, length time.Duration) (Outcome, error) {
	jars := strings.Join([]string{filepath.Join(g.Repository, "build", "bullet-metrics-storm.jar"),
		filepath.Join(g.Repository, "plugin-java", "bench", "target", "benchmarks.jar")},
		string(filepath.ListSeparator))
	for jar := range strings.SplitSeq(jars, string(filepath.ListSeparator)) {
		if _, err := os.Stat(jar); err != nil {
			return Outcome{}, fmt.Errorf("%s is missing: make chaos builds it: %w", jar, err)
		}
	}
	seconds := strconv.Itoa(int(length.Seconds()))
	command := groupCommand(ctx, "java", "-Dbench.seconds="+seconds, "-cp", jars,
		"io.github.bulletmetrics.storm.noharm.Hostile", g.Binary,
		filepath.Join(g.Repository, "topology", "captures"), kind)
	said, err := command.CombinedOutput()
	if err != nil {
		return Outcome{}, fmt.Errorf("the plugin beside a collector that is %s: %w: %s", kind, err,
			said[max(0, len(said)-3000):])
	}
	f, _ := heard(said)
	if f["seconds"] == 0 {
		return Outcome{}, fmt.Errorf("the plugin beside a collector that is %s: %w", kind, errTally)
	}
	return held(kind, f), nil
}

// held is what a measurement of the plugin comes to.
func held(kind string, f tally) Outcome {
	o := Outcome{Tries: 1, Expired: f["dropped"]}
	o.Measured = []string{fmt.Sprintf("%s for %d s: %.2f%% of a core in handleDataPoints and the plugin's threads, heap %+.1f MiB, %d samples queued, %d dropped and counted; p999 of a call %.3f ms of CPU, the control's %.3f",
		kind, f["seconds"], float64(f["core_ppm"])/10_000, float64(f["heap_growth_bytes"])/(1<<20), f["queued"],
		f["dropped"], float64(f["call_p999_ns"])/1e6, float64(f["control_p999_ns"])/1e6)}
	for name, most := range map[string]int64{"core_ppm": mostOfACorePPM, "heap_growth_bytes": mostHeapGrowthBytes,
		"queued": queueSamples} {
		if f[name] > most {
			o.Broken = append(o.Broken, fmt.Sprintf("%s: %s %d, at most %d", kind, name, f[name], most))
		}
	}
	if f["queued"] == queueSamples && f["dropped"] == 0 {
		o.Broken = append(o.Broken, kind+": the queue is full, and no drop is counted")
	}
	return o
}

// heard reads the lines `tally: name=number ...`, later ones over earlier ones, and `measured: ...`, indented as tests
// print them or not.
func heard(said []byte) (figures tally, measured []string) {
	figures = tally{}
	for line := range bytes.Lines(said) {
		text := string(bytes.TrimSpace(line))
		if _, what, is := strings.Cut(text, "measured: "); is {
			measured = append(measured, what)
		}
		_, pairs, is := strings.Cut(text, "tally: ")
		if !is {
			continue
		}
		for pair := range strings.FieldsSeq(pairs) {
			name, number, _ := strings.Cut(pair, "=")
			if n, err := strconv.ParseInt(number, 10, 64); err == nil {
				figures[name] = n
			}
		}
	}
	return figures, measured
}
