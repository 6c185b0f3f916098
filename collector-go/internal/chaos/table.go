package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
)

// Result is a row with what came of it.
type Result struct {
	Number int    `json:"row"`
	Fault  string `json:"fault"`
	Outcome
	Verdict string  `json:"verdict"`
	Seconds float64 `json:"seconds"`
}

// WriteTable writes one line a row, and behind them what was measured and what is broken.
func WriteTable(to io.Writer, results []Result) error {
	for _, r := range results {
		for _, line := range r.Measured {
			fmt.Fprintf(to, "%2d %s: %s\n", r.Number, r.Fault, line)
		}
		for _, line := range r.Broken {
			fmt.Fprintf(to, "%2d %s: BROKEN: %s\n", r.Number, r.Fault, line)
		}
	}
	fmt.Fprintln(to)
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\tfault\ttries\tacknowledged\tlost\tdoubled\tdamaged\texpired\tseconds\tverdict\t")
	for _, r := range results {
		fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%s\t\n", r.Number, r.Fault, r.Tries, r.Acknowledged, r.Lost, r.Doubled, r.Damaged, r.Expired, r.Seconds, r.Verdict)
	}
	return t.Flush()
}

// WriteJSON writes chaos.json into a directory.
func WriteJSON(dir string, seed uint64, scale float64, results []Result) error {
	text, err := json.MarshalIndent(struct {
		Seed   uint64   `json:"seed"`
		Scale  float64  `json:"scale"`
		Faults []Result `json:"faults"`
	}{seed, scale, results}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "chaos.json"), append(text, '\n'), 0o640)
}
