package bench

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
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
				panic(fmt.Sprintf("bench: recorded.csv: %v", err)) // it is part of the program
			}
			all[i] = append(all[i], v)
		}
	}
	return all
}

// RecordedRows are rows whose values are recorded heap and CPU of a JVM in turns, from a place on that follows from the
// seed, the host and the metric.
func RecordedRows(seed uint64, hosts, metrics int) *Rows {
	return &Rows{Hosts: hosts, Metrics: metrics, Seed: seed, recorded: true}
}

// play goes on to the next step of recorded values.
func (w *Walk) play() {
	r := w.rows
	for i, h := range w.hosts {
		values := w.Values[i*r.Metrics : (i+1)*r.Metrics]
		for m := range values {
			tape := recording[m%2]
			v := tape[(w.Steps+int(r.mixed(uint64(h*r.Metrics+m))%uint64(len(tape))))%len(tape)]
			values[m] = v
			w.Sums[m] += v
		}
	}
	w.Steps++
}
