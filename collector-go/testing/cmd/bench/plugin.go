package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
)

// The consumers as plugin-java/bench names them.
const (
	ourConsumer  = "ours"
	httpConsumer = "HttpForwardingMetricsConsumer 1.2.4"
)

// tenth is the part of the workers of 1,162 executors that a tick of the benchmark is of.
const tenth = 10

func (s *session) plugin() scenario {
	warm, measured := s.sized(150, 60, 10), s.sized(50, 30, 10)
	return scenario{goal.Plugin,
		"a metrics tick of 1,162 executors in the plugin, beside Storm's consumer that forwards by HTTP", []int{9},
		fmt.Sprintf("%d ticks of a tenth of the workers after %d to warm up", measured, warm),
		[]subject{{goal.Ours, s.consumer(ourConsumer, warm, measured)},
			{goal.HTTP, s.consumer(httpConsumer, warm, measured)}}}
}

// consumer runs JMH, in a JVM of its own, and reads its result.
func (s *session) consumer(name string, warm, measured int) measurement {
	return func(ctx context.Context, dir string) (figures, error) {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return nil, err
		}
		in := func(parts ...string) string {
			path, err := filepath.Abs(filepath.Join(append([]string{s.repository}, parts...)...))
			if err != nil {
				return filepath.Join(parts...)
			}
			return path
		}
		for _, path := range []string{in("build", "bullet-metrics-storm.jar"),
			in("plugin-java", "bench", "target", "benchmarks.jar"),
			in("plugin-java", "bench", "storm-1.2", "target", "lib")} {
			if _, err := os.Stat(path); err != nil {
				return nil, fmt.Errorf("%s was not built: make bench builds it", filepath.Base(path))
			}
		}
		program, err := filepath.Abs(s.program)
		if err != nil {
			return nil, err
		}
		java := "java"
		if home := os.Getenv("JAVA_HOME"); home != "" {
			java = filepath.Join(home, "bin", "java")
		}
		result, log := filepath.Join(dir, "result.json"), filepath.Join(dir, "log")
		options := fmt.Sprintf("-Xmx1g -Dcollector=%s -Dcaptures=%s -Dstorm1=%s -Dlogs=%s", program,
			in("topology", "captures"), in("plugin-java", "bench", "storm-1.2", "target", "lib"), dir)
		c := exec.CommandContext(ctx, java, "-cp", in("build", "bullet-metrics-storm.jar")+":"+
			in("plugin-java", "bench", "target", "benchmarks.jar"), "org.openjdk.jmh.Main",
			"noharm.ConsumerBenchmark", "-p", "consumer="+name, "-f", "1", "-wi", strconv.Itoa(warm), "-i",
			strconv.Itoa(measured), "-jvmArgsAppend", options, "-rf", "json", "-rff", result, "-o", log)
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("JMH: %w: %.300s", err, out)
		}
		text, err := os.ReadFile(result)
		if err != nil {
			return nil, fmt.Errorf("JMH measured nothing: %w", err)
		}
		values, err := consumed(text)
		if err != nil {
			err = fmt.Errorf("%w; %s says why", err, log)
		}
		return values, err
	}
}

// consumed reads JMH's result.
func consumed(text []byte) (figures, error) {
	var results []struct {
		SecondaryMetrics map[string]struct{ Score float64 }
	}
	if err := json.Unmarshal(text, &results); err != nil {
		return nil, err
	}
	if len(results) != 1 {
		return nil, fmt.Errorf("JMH has %d results", len(results))
	}
	of := func(name string) float64 { return results[0].SecondaryMetrics[name].Score }
	ticks := of("ticks")
	if ticks == 0 {
		return nil, fmt.Errorf("JMH counted no tick: %.300s", text)
	}
	return figures{"cpu_us_per_tick": of("allCpuNs") / ticks * tenth / 1e3,
		"allocated_kb_per_tick":        of("allBytes") / ticks * tenth / 1e3,
		"caller_cpu_us_per_tick":       of("cpuNs") / ticks * tenth / 1e3,
		"caller_allocated_kb_per_tick": of("bytes") / ticks * tenth / 1e3,
		"calls_per_tick":               of("calls") / ticks * tenth}, nil
}
