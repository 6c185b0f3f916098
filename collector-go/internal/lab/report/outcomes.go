package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// outcome is what a comparison needs of a query that ended (load.Outcome).
type outcome struct {
	IntendedMs  int64  `json:"intended_ms"`
	SubmittedMs int64  `json:"submitted_ms"`
	FinishedMs  int64  `json:"finished_ms"`
	LatencyUs   int64  `json:"latency_us"` // from when it was meant to start
	End         string `json:"end"`
	Records     int    `json:"records"`
}

// latencyMs is from when the query was meant to start to its end.
func (o outcome) latencyMs() Figure {
	if o.LatencyUs > 0 {
		return Figure(o.LatencyUs) / 1000
	}
	return Figure(o.FinishedMs - o.IntendedMs)
}

// mostLine bounds a line of outcomes.
const mostLine = 1 << 20

// readOutcomes reads what became of the queries; a file that is not there has none.
func readOutcomes(path string) (all []outcome, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, mostLine)
	for n := 1; lines.Scan(); n++ {
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Compare(a.FinishedMs, b.FinishedMs) })
	return all, lines.Err()
}
