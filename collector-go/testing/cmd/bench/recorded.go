package main

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// recordedText is heap (bytes in use) and CPU (cores) of a JVM at work, read every 100 ms.
//
//go:embed recorded.csv
var recordedText string

// recording is heap and CPU in turns, as they were read.
var recording = mustReadRecording(recordedText)

func mustReadRecording(text string) (all [2][]float64) {
	for line := range strings.Lines(text) {
		heap, cpu, _ := strings.Cut(strings.TrimSpace(line), ",")
		for i, field := range []string{heap, cpu} {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				panic(fmt.Sprintf("recorded.csv: %v", err)) // it is part of the program
			}
			all[i] = append(all[i], v)
		}
	}
	return all
}

// recordedRows are rows whose values are recorded heap and CPU of a JVM in turns, from a place on that follows from the
// seed, the host and the metric.
func recordedRows(seed uint64, hosts, metrics int) *bench.Rows {
	r := &bench.Rows{Hosts: hosts, Metrics: metrics, Seed: seed}
	r.Play = func(host, metric, step int) float64 {
		tape := recording[metric%2]
		return tape[(step+int(r.Mixed(uint64(host*metrics+metric))%uint64(len(tape))))%len(tape)]
	}
	return r
}
